"""Texts that hold secrets, that look as if they did, and that are made to take a scanner long."""

from __future__ import annotations

import base64
import random
import string

from hypothesis import strategies as st

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
URL64 = ALNUM + "-_"

# Each makes a scanner with one careless repeat take minutes; the benchmark times them at 100 KB and 1 MB.
ADVERSARIAL = (
    *(
        "a",
        "1",
        "=",
        ":",
        "'",
        "x ",
        "a.",
        "abcdefab",
        "Aa1/",
        "SK",
        "Q~",
        "MTAA",
        "AKIA",
        "sk-",
        "key-",
        "ghp_",
    ),
    *("eyJ", "eyJ-", "eyJaaaaaaaaaaa.", "\\neyJaaaaaaaa", "xoxb-", "dp.st.", "SG.aaaaaaaaaaaaaaaaaaaa."),
    *(
        "https://",
        "https://a:",
        "://a:b",
        "user:pass@://",
        "Bearer ",
        "bearer bearerx1",
        "authorization: basic ",
    ),
    *(
        "token=",
        "token1=",
        "\u0130token=",
        "api_key: ",
        "secret:x1B:",
        '"token": "',
        "password='",
        'password="a1',
    ),
    *(
        "pass",
        "--password ",
        "password=hunter2 ",
        "[redacted:jwt]",
        "-----BEGIN ",
        "-----BEGIN RSA PRIVATE KEY-----",
    ),
    "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n",
)


def chars(alphabet: str, count: int) -> str:
    """Return characters that are the same in every run, so that no test depends on chance."""
    made = random.Random(f"{alphabet}{count}").choices(alphabet, k=count)
    # Some judgements ask for a digit and both cases: no sample may lack them by accident.
    made[:3] = [alphabet[0], alphabet[-1], alphabet[len(alphabet) // 2]]
    return "".join(made)


def jwt() -> str:
    parts = ('{"alg":"HS256","typ":"JWT"}', '{"sub":"1234567890","name":"Ada"}')
    encoded = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, chars(URL64, 43)])


# Assembled here from parts, so that no scanner takes this file for a leak.
TOKENS = (
    ("age-secret-key", "AGE-SECRET-" + "KEY-1" + chars("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    ("alibaba-key", "LT" + "AI" + chars(ALNUM, 20)),
    ("anthropic-key", "sk-" + "ant-api03-" + chars(URL64, 93) + "AA"),
    ("atlassian-token", "ATA" + "TT3" + chars(URL64, 186)),
    ("aws-access-key", "AK" + "IA" + chars(UPPER, 16)),
    ("aws-access-key", "AS" + "IA" + chars(UPPER, 16)),
    ("aws-bedrock-key", "AB" + "SK" + chars(ALNUM + "+/", 128)),
    ("azure-client-secret", chars(ALNUM, 3) + "8" + "Q~" + chars(ALNUM, 34)),
    ("brevo-key", "xkey" + "sib-" + chars(HEX, 64) + "-" + chars(ALNUM, 16)),
    ("circleci-token", "CCI" + "PAT_" + chars(ALNUM, 22) + "_" + chars(HEX, 40)),
    ("cloudflare-token", "cf" + "ut_" + chars(ALNUM, 48)),
    ("databricks-token", "da" + "pi" + chars(HEX, 32) + "-2"),
    ("digitalocean-token", "dop" + "_v1_" + chars(HEX, 64)),
    ("docker-token", "dckr" + "_pat_" + chars(URL64, 27)),
    ("doppler-token", "dp" + ".pt." + chars(ALNUM, 43)),
    ("doppler-token", "dp" + ".st.dev." + chars(ALNUM, 43)),
    ("dynatrace-token", "dt0" + "c01." + chars(UPPER, 24) + "." + chars(UPPER, 64)),
    ("figma-token", "fi" + "gd_" + chars(URL64, 40)),
    ("fly-token", "fm" + "2_" + chars(ALNUM + "+/", 120)),
    ("github-token", "gh" + "p_" + chars(ALNUM, 36)),
    ("github-token", "gh" + "o_" + chars(ALNUM, 36)),
    ("github-token", "gh" + "u_" + chars(ALNUM, 36)),
    ("github-token", "gh" + "s_" + chars(ALNUM, 36)),
    ("github-token", "gh" + "r_" + chars(ALNUM, 76)),
    ("github-token", "github" + "_pat_" + chars(ALNUM, 22) + "_" + chars(ALNUM, 59)),
    ("gitlab-token", "gl" + "pat-" + chars(URL64, 20)),
    ("google-api-key", "AI" + "za" + chars(URL64, 35)),
    ("google-oauth", "GOC" + "SPX-" + chars(URL64, 28)),
    ("google-oauth", "ya" + "29." + chars(URL64, 120)),
    ("grafana-token", "gl" + "sa_" + chars(ALNUM, 32) + "_" + chars(HEX, 8)),
    ("groq-key", "gs" + "k_" + chars(ALNUM, 52)),
    ("heroku-key", "HR" + "KU-AA" + chars(URL64, 58)),
    ("huggingface-token", "h" + "f_" + chars(ALNUM, 34)),
    ("jwt", jwt()),
    ("langsmith-key", "ls" + "v2_pt_" + chars(HEX, 32) + "_" + chars(HEX, 10)),
    ("linear-key", "lin" + "_api_" + chars(ALNUM, 40)),
    ("mailchimp-key", chars(HEX, 32) + "-us" + "12"),
    ("mailgun-key", "ke" + "y-" + chars(HEX, 32)),
    ("netlify-token", "nf" + "p_" + chars(ALNUM, 36)),
    ("new-relic-key", "NR" + "AK-" + chars(UPPER, 27)),
    ("notion-token", "nt" + "n_" + chars(string.digits, 11) + chars(ALNUM, 35)),
    ("notion-token", "sec" + "ret_" + chars(ALNUM, 43)),
    ("npm-token", "np" + "m_" + chars(ALNUM, 36)),
    ("nvidia-key", "nv" + "api-" + chars(URL64, 64)),
    ("openai-key", "s" + "k-" + chars(ALNUM, 48)),
    ("openai-key", "s" + "k-proj-" + chars(URL64, 148)),
    ("perplexity-key", "pp" + "lx-" + chars(ALNUM, 48)),
    ("planetscale-token", "psc" + "ale_tkn_" + chars(ALNUM, 43)),
    ("postman-key", "PM" + "AK-" + chars(HEX, 24) + "-" + chars(HEX, 34)),
    ("pulumi-token", "pu" + "l-" + chars(HEX, 40)),
    ("pypi-token", "py" + "pi-AgEIcHlwaS5vcmc" + chars(URL64, 120)),
    ("replicate-token", "r" + "8_" + chars(ALNUM, 37)),
    ("rubygems-key", "ruby" + "gems_" + chars(HEX, 48)),
    ("sendgrid-key", "S" + "G." + chars(URL64, 22) + "." + chars(URL64, 43)),
    ("sentry-token", "sntr" + "ys_eyJ" + chars(ALNUM, 80) + "_" + chars(ALNUM, 43)),
    ("shopify-token", "shp" + "at_" + chars(HEX, 32)),
    (
        "slack-token",
        "xo" + "xb-" + chars(string.digits, 12) + "-" + chars(string.digits, 12) + "-" + chars(ALNUM, 24),
    ),
    (
        "slack-token",
        "xa" + "pp-1-" + chars(UPPER, 11) + "-" + chars(string.digits, 13) + "-" + chars(HEX, 64),
    ),
    ("square-token", "sq" + "0atp-" + chars(URL64, 22)),
    ("square-token", "EA" + "AA" + chars(URL64, 60)),
    ("stripe-key", "sk" + "_live_" + chars(ALNUM, 24)),
    ("stripe-key", "rk" + "_live_" + chars(ALNUM, 24)),
    ("stripe-webhook-secret", "wh" + "sec_" + chars(ALNUM, 32)),
    ("supabase-token", "sb" + "p_" + chars(HEX, 40)),
    ("telegram-token", chars(string.digits, 10) + ":" + "AA" + chars(URL64, 33)),
    ("terraform-token", chars(ALNUM, 14) + ".atlas" + "v1." + chars(ALNUM, 64)),
    ("twilio-key", "S" + "K" + chars(HEX, 32)),
    ("vault-token", "hv" + "s." + chars(URL64, 95)),
    ("xai-key", "xa" + "i-" + chars(ALNUM, 80)),
)

# Where only a part is secret, the rest of the text says what the part belongs to, and stays.
KEPT_BESIDE = (
    ("azure-storage-key", "AccountName=a;AccountKey=", chars(ALNUM + "+/", 86) + "==", ";EndpointSuffix=b"),
    ("discord-webhook", "https://discord.com/api/webhooks/112233445566778899/", chars(URL64, 68), " is ours"),
    (
        "slack-webhook",
        "https://hooks.slack.com/services/",
        f"T{chars(UPPER, 9)}/B{chars(UPPER, 10)}/{chars(ALNUM, 24)}",
        ".",
    ),
    ("discord-token", "DISCORD_BOT=", f"MTk4NjIyNDgzNDcxOTI1MjQ4.{chars(URL64, 6)}.{chars(URL64, 38)}", "\n"),
    ("url-password", "postgres://ada:", "s3cr3t-Engine", "@db.internal:5432/notes"),
    ("url-password", "redis://:", chars(ALNUM, 24), "@cache.internal:6379/0"),
    ("authorization", "Authorization: Bearer ", chars(ALNUM, 20), "\r\nAccept: */*"),
    ("authorization", "'Authorization': 'token ", chars(HEX, 40), "'"),
    ("authorization", "Authorization: Basic ", base64.b64encode(b"ada:engine").decode(), "\n"),
    ("authorization", "Proxy-Authorization: Basic ", base64.b64encode(b"ada:pw").decode(), "\n"),
    ("authorization", "the gateway answers to bearer ", chars(ALNUM, 32), " only"),
    ("password", 'password = "', "hunter2", '"'),
    ("password", "password: ", "hunter2", "\nuser: ada"),
    ("password", "DB_PASSWORD=", "Passw0rd123", "\nDB_USER=ada"),
    ("password", "connect(user='ada', passwd='", "p@ssword", "')"),
    ("password", 'settings["password"] = "', "correct1horse", '"'),
    ("password", 'password: str = "', "hunter2!", '"'),
    ("password", '{\\"password\\": \\"', "hunter2", '\\"}'),
    ("password", "mysql --password ", "hunter2", " -u ada"),
    ("password", 'if password == "', "hunter2", '":'),
    ("secret", '"api_key": "', chars(HEX, 32), '", "user": "ada"'),
    ("secret", "apiKey: '", chars(ALNUM, 24), "',"),
    ("secret", "X-Api-Key: ", chars(ALNUM, 24), "\n"),
    ("secret", "CLIENT_SECRET=", chars(URL64, 32), "\n"),
    ("secret", "secret_key_base: ", chars(HEX, 128), "\n"),
    ("secret", "?access_token=", chars(ALNUM, 32), "&page=2"),
    ("secret", "session token := `", chars(ALNUM, 24), "`"),
    ("aws-secret-key", "aws_secret_access_key = ", chars(ALNUM + "/+", 40), "\n"),
)

SPARED = (
    "the token budget is 8000 tokens; auth: required; key: value",
    "password = <token>",
    "api_key: {{token}}",
    "API_KEY=${TOKEN}",
    "PASSWORD=$DB_PASSWORD",
    "token = xxxxxxxxxxxxxxxxxxxxxxxx",
    "token: ****************",
    'api_key = "your-api-key"',
    'API_KEY="your_api_key_goes_here_1"',
    'password = "changeme1"',
    "secret: example-secret-1234567890",
    'password = "..."',
    'api_key = os.environ["API_KEY_2"]',
    "token = secrets.token_urlsafe(32)",
    "password=get_password2()",
    "password = settings.database.password2",
    "token = request.headers.authorization",
    'password: "string"',
    "password: Optional[str] = None",
    "token_count = 12345678901234567890",
    "password_hash = argon2id",
    "auth = oauth2",
    "next_page_token=CAUQAA9xYzE3Zk1aQ2h0",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "token: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "--hash=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    'integrity: "sha512-oRJTpAwDaFwLs0+2Q7NZeP1v0wXo3B6mJkq9Yd4hT5cGZtR8xUuFiKjHnVbS2eWcMyLrQaDpIf=="',
    "id: 123e4567-e89b-42d3-a456-426614174000",
    "session_token: 123e4567-e89b-42d3-a456-426614174000",
    "https://user:password@host/path",
    "https://${USER}:${PASSWORD}@host/path",
    "http://localhost:8080/@scope/name",
    "git@github.com:owner/name.git",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "basic authentication: see the handbook",
    "AKIAIOSFODNN7" + "EXAMPLE",
    "ghp_" + "x" * 36,
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    'if line == "-----BEGIN RSA PRIVATE KEY-----":',
    "-----BEGIN PUBLIC KEY-----\n" + "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A" + "\n-----END PUBLIC KEY-----",
    "task-management-for-very-long-kebab-case-names",
    "def test_a_password_is_never_logged_by_the_session_token_middleware2(): ...",
)

SECRETISH = st.lists(
    st.sampled_from(
        [
            *(token for _, token in TOKENS),
            *(part for row in KEPT_BESIDE for part in row[1:]),
            *ADVERSARIAL,
            *(
                "password",
                "secret",
                "=",
                ": ",
                '"',
                "'",
                " ",
                "\n",
                "://",
                "@",
                "[redacted:jwt]",
                "(",
                "-----END A-----",
            ),
        ]
    )
    | st.text(max_size=6),
    max_size=12,
).map("".join)
"""Texts put together from all of them."""
