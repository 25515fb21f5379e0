"""The token formats that providers publish, one entry each.

Sources: GitHub's "Supported secret scanning patterns" and "Behind GitHub's new authentication token formats", the
default configuration of gitleaks 8, and the providers' own pages, named beside their entries or in one place
(Cloudflare "Token formats", GitLab "Token prefixes", Slack "Token types", Stripe "API keys").

Every pattern is linear: repeats are bounded or take a whole run at once, none is nested in another.
"""

from __future__ import annotations

from satchel.base.records import dataclass


@dataclass(frozen=True, slots=True)
class TokenFormat:
    """One published format.

    Args:
        kind: what the marker says, as in ``github-token``.
        literals: ASCII text of which at least one occurs in every such token; tried before the pattern.
        pattern: the regular expression; a capturing group marks the secret part when the rest should stay.
        anywhere: the prefix is so telling that it counts in the middle of a word.
        before: the fewest and the most characters of a match in front of its literal; None where the literal is
            not part of the match.
    """

    kind: str
    literals: tuple[str, ...]
    pattern: str
    anywhere: bool = False
    before: tuple[int, int] | None = (0, 0)


_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
# Where a prefix is short or reads as a word, a token holds a digit among its first characters.
_DIGIT = r"(?=[A-Za-z_-]{0,30}[0-9])"

TOKEN_FORMATS: tuple[TokenFormat, ...] = (
    TokenFormat("age-secret-key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{50,60}", anywhere=True),
    TokenFormat("alibaba-key", ("LTAI",), r"LTAI[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
    TokenFormat("anthropic-key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{20,}", anywhere=True),
    TokenFormat("atlassian-token", ("ATATT3", "ATCTT3"), r"AT[AC]TT3[A-Za-z0-9_=-]{50,}", anywhere=True),
    TokenFormat("aws-access-key", ("AKIA", "ASIA"), r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    TokenFormat("aws-bedrock-key", ("ABSK",), r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    TokenFormat("azure-client-secret", ("Q~",), r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}", before=(4, 4)),
    TokenFormat(
        "azure-storage-key",
        ("AccountKey=", "SharedAccessKey="),
        r"(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{43,86}={0,2}+)",
        anywhere=True,
    ),
    TokenFormat("brevo-key", ("xkeysib-",), r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}", anywhere=True),
    TokenFormat("circleci-token", ("CCIPAT_",), r"CCIPAT_[A-Za-z0-9]{20,}_[a-f0-9]{40}", anywhere=True),
    TokenFormat("cloudflare-token", ("cfk_", "cfut_", "cfat_"), r"cf(?:k|ut|at)_[A-Za-z0-9]{40,}"),
    TokenFormat("databricks-token", ("dapi",), r"dapi[a-f0-9]{32}"),
    TokenFormat("digitalocean-token", ("_v1_",), r"do[opr]_v1_[a-f0-9]{64}", anywhere=True, before=(3, 3)),
    TokenFormat("discord-token", ("iscord", "ISCORD"), r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}", before=None),
    TokenFormat(
        "discord-webhook",
        ("/api/webhooks/",),
        r"discord(?:app)?\.com/api/webhooks/\d{16,20}/([\w-]{60,})",
        anywhere=True,
        before=(11, 14),
    ),
    TokenFormat("docker-token", ("dckr_",), r"dckr_[op]at_[A-Za-z0-9_-]{27,}", anywhere=True),
    TokenFormat(
        "doppler-token",
        ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        r"dp\.(?:pt|ct|sa|scim|audit|st\.[a-z0-9_-]{2,35}|st)\.[A-Za-z0-9]{40,}",
    ),
    TokenFormat("dynatrace-token", ("dt0c01.",), r"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    TokenFormat("figma-token", ("figd_",), r"figd_[A-Za-z0-9_-]{40,}", anywhere=True),
    TokenFormat("fly-token", ("fo1_", "fm1a_", "fm1r_", "fm2_"), r"(?:fo1|fm1[ar]|fm2)_[A-Za-z0-9+/_=-]{43,}"),
    TokenFormat(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghr_", "ghs_", "github_pat_"),
        r"(?:gh[opur]_[A-Za-z0-9]{36,}|ghs_[A-Za-z0-9._-]{36,}|github_pat_[A-Za-z0-9_]{60,})",
        anywhere=True,
    ),
    TokenFormat(
        "gitlab-token",
        ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-"),
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_.-]{20,}",
        anywhere=True,
    ),
    TokenFormat("google-api-key", ("AIza",), r"AIza[A-Za-z0-9_-]{35}"),
    TokenFormat("google-oauth", ("GOCSPX-",), r"GOCSPX-[A-Za-z0-9_-]{24,}", anywhere=True),
    TokenFormat("google-oauth", ("ya29.", "1//0"), r"(?:ya29\.|1//0)[A-Za-z0-9_-]{30,}"),
    TokenFormat(
        "grafana-token",
        ("glsa_", "glc_"),
        r"(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,3})",
    ),
    TokenFormat("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}"),
    TokenFormat("heroku-key", ("HRKU-",), r"HRKU-[A-Za-z0-9_-]{36,}"),
    TokenFormat("huggingface-token", ("hf_", "api_org_"), r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    # Not after a hyphen either: the run could otherwise be entered at many places.
    TokenFormat("jwt", ("eyJ",), r"(?<!-)eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"),
    TokenFormat("langsmith-key", ("lsv2_",), r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}", anywhere=True),
    TokenFormat("linear-key", ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9]{40,}", anywhere=True),
    TokenFormat("mailchimp-key", ("-us",), r"[a-f0-9]{32}-us\d{1,2}(?![A-Za-z0-9])", before=(32, 32)),
    TokenFormat("mailgun-key", ("key-",), r"key-[a-f0-9]{32}"),
    TokenFormat("netlify-token", ("nfp_",), r"nfp_[A-Za-z0-9]{36,}"),
    TokenFormat("new-relic-key", ("NRAK-", "NRII-"), r"NR(?:AK-[A-Z0-9]{27}|II-[A-Za-z0-9-]{32})"),
    TokenFormat("notion-token", ("ntn_", "secret_"), r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})"),
    TokenFormat("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    TokenFormat("nvidia-key", ("nvapi-",), r"nvapi-[A-Za-z0-9_-]{60,}"),
    TokenFormat(
        "openai-key",
        ("sk-",),
        r"sk-(?:(?:proj|svcacct|admin|service)-[A-Za-z0-9_-]{20,}|or-v1-[a-f0-9]{64}|[A-Za-z0-9]{32,})",
    ),
    TokenFormat("perplexity-key", ("pplx-",), r"pplx-[A-Za-z0-9]{40,}"),
    TokenFormat("planetscale-token", ("pscale_",), r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{32,}", anywhere=True),
    TokenFormat("postman-key", ("PMAK-",), r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", anywhere=True),
    TokenFormat("pulumi-token", ("pul-",), r"pul-[a-f0-9]{40}"),
    TokenFormat("pypi-token", ("pypi-AgE",), r"pypi-AgE[A-Za-z0-9_-]{50,}", anywhere=True),
    TokenFormat("replicate-token", ("r8_",), r"r8_[A-Za-z0-9]{37}"),
    TokenFormat("rubygems-key", ("rubygems_",), r"rubygems_[a-f0-9]{48}", anywhere=True),
    # our own: satchel/interfaces/http/tokens.py
    TokenFormat("satchel-token", ("satchel_",), r"satchel_[0-9a-f]{10}_[A-Za-z0-9_-]{20,}", anywhere=True),
    TokenFormat("sendgrid-key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    TokenFormat(
        "sentry-token",
        ("sntrys_", "sntryu_"),
        r"(?:sntrys_eyJ[A-Za-z0-9+/=_-]{40,}|sntryu_[a-f0-9]{64})",
        anywhere=True,
    ),
    TokenFormat(
        "shopify-token",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
        r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}",
        anywhere=True,
    ),
    TokenFormat(
        "slack-token",
        ("xox", "xapp-"),
        r"(?:xox[abceoprs](?:\.xox[bp])?|xapp)-[A-Za-z0-9-]{16,}",
        anywhere=True,
    ),
    TokenFormat(
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{30,})",
        anywhere=True,
    ),
    TokenFormat("square-token", ("EAAA", "sq0"), r"(?:EAAA[A-Za-z0-9_-]{56,60}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,})"),
    TokenFormat(
        "stripe-key",
        ("sk_live_", "rk_live_", "sk_test_", "rk_test_"),
        r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}",
        anywhere=True,
    ),
    TokenFormat("stripe-webhook-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/]{32,}={0,2}", anywhere=True),
    TokenFormat("supabase-token", ("sbp_", "sb_secret_"), r"(?:sbp_(?:v0_)?[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{30,})"),
    TokenFormat("telegram-token", (":AA",), r"\d{8,10}:AA[A-Za-z0-9_-]{33}", before=(8, 10)),
    TokenFormat("terraform-token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", before=(14, 14)),
    TokenFormat("twilio-key", ("SK",), r"SK[a-f0-9]{32}"),
    TokenFormat("vault-token", ("hvs.", "hvb.", "hvr."), r"hv[bsr]\.[A-Za-z0-9_-]{24,}"),
    TokenFormat("xai-key", ("xai-",), r"xai-[A-Za-z0-9]{60,}"),
    # https://tailscale.com/docs/reference/key-prefixes
    TokenFormat(
        "tailscale-key", ("tskey-",), r"tskey-(?:[a-z]{2,10}-)?[A-Za-z0-9]{6,}-[A-Za-z0-9]{10,}", anywhere=True
    ),
    # TruffleHog 3, detectors/hubspot_apikey; GitGuardian's page on HubSpot's private applications
    TokenFormat("hubspot-token", ("pat-na", "pat-eu", "pat-ap"), rf"pat-[a-z]{{2}}\d-(?i:{_UUID})"),
    # gitleaks 8, sonar-api-token; TruffleHog 3, detectors/sonarcloud
    TokenFormat("sonar-token", ("squ_", "sqp_", "sqa_", "sqco_"), r"(?:sq[upa]_[a-f0-9]{40}|sqco_[A-Za-z0-9]{40,})"),
    # https://docs.tavily.com/guides/quickstart
    TokenFormat("tavily-key", ("tvly-",), r"tvly-[A-Za-z0-9_-]{20,}", anywhere=True),
    # no page of Jina says the format; this is what the rules of scanners in public repositories agree on
    TokenFormat("jina-key", ("jina_",), rf"jina_{_DIGIT}[A-Za-z0-9_-]{{28,}}"),
    # TruffleHog 3, detectors/pinecone
    TokenFormat("pinecone-key", ("pcsk_",), r"pcsk_[A-Za-z0-9_]{40,}", anywhere=True),
    # https://langfuse.com/faq/all/lost-secret-key
    TokenFormat("langfuse-key", ("sk-lf-",), rf"sk-lf-(?i:{_UUID})", anywhere=True),
    # https://posthog.com/docs/api/personal-api-keys; TruffleHog 3, detectors/posthog
    TokenFormat("posthog-key", ("phx_", "phs_", "phc_"), rf"ph[xsc]_{_DIGIT}[A-Za-z0-9_]{{32,}}"),
    # https://resend.com/docs/api-reference/api-keys/update-api-key
    TokenFormat("resend-key", ("re_",), rf"re_{_DIGIT}[A-Za-z0-9]{{6,10}}_[A-Za-z0-9]{{20,}}"),
    # gitleaks 8, 1password-service-account-token and 1password-secret-key
    TokenFormat("1password-token", ("ops_eyJ",), r"ops_eyJ[A-Za-z0-9+/=_-]{100,}", anywhere=True),
    TokenFormat(
        "1password-key", ("A3-",), r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"
    ),
    # https://vercel.com/changelog/new-token-formats-and-secret-scanning
    TokenFormat("vercel-token", ("vcp_", "vci_", "vca_", "vcr_", "vck_"), rf"vc[piark]_{_DIGIT}[A-Za-z0-9]{{24,}}"),
    TokenFormat(
        "vercel-token", ("vercel_blob_rw_",), r"vercel_blob_rw_[A-Za-z0-9]{8,}_[A-Za-z0-9]{20,}", anywhere=True
    ),
    # no page of Render says the format: KeyHog, detectors/render-api-key
    TokenFormat("render-key", ("rnd_",), rf"rnd_{_DIGIT}[A-Za-z0-9]{{24,}}"),
    # no page of Neon says the format; this is what the rules of scanners in public repositories agree on
    TokenFormat("neon-key", ("napi_",), r"napi_[a-z0-9]{40,}"),
    # the keys before service accounts: gitleaks 8, grafana-api-key
    TokenFormat("grafana-token", ("eyJrIjoi",), r"eyJrIjoi[A-Za-z0-9+/]{60,}={0,3}"),
    # TruffleHog 3, detectors/bitbucketapppassword and detectors/atlassiandatacenter/bitbucketdatacenter
    TokenFormat("bitbucket-token", ("ATBB", "BBDC-"), r"(?:ATBB[A-Za-z0-9]{24,}|BBDC-[A-Za-z0-9+/@_-]{40,})"),
    # From here on: gitleaks 8 and the detectors of TruffleHog 3, where no page of the provider says the format.
    TokenFormat("adobe-secret", ("p8e-",), r"p8e-[A-Za-z0-9]{32}"),
    TokenFormat("airtable-token", ("pat",), r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    TokenFormat("anyscale-key", ("esecret_",), rf"esecret_{_DIGIT}[A-Za-z0-9]{{20,}}"),
    TokenFormat("apify-token", ("apify_api_",), r"apify_api_[A-Za-z0-9]{30,}", anywhere=True),
    TokenFormat("artifactory-key", ("AKCp", "cmVmd"), r"(?:AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59})"),
    TokenFormat(
        "authress-key",
        (".acc",),
        r"(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,}",
        before=(13, 46),
    ),
    TokenFormat("azure-devops-token", ("AZDO",), r"[A-Za-z0-9]{72,80}AZDO[A-Za-z0-9]{4}", before=(72, 80)),
    TokenFormat("baidu-key", ("bce-v3/",), r"bce-v3/ALTAK-[A-Za-z0-9]{21}/[a-f0-9]{40}", anywhere=True),
    TokenFormat("brave-key", ("BSA",), rf"BSA{_DIGIT}[A-Za-z0-9_-]{{24,32}}"),
    TokenFormat("browserbase-key", ("bb_live_",), r"bb_live_[A-Za-z0-9_-]{20,}"),
    TokenFormat("buildkite-token", ("bkua_", "bkct_", "bkpt_"), r"bk(?:ua|ct|pt)_[a-f0-9]{40}"),
    TokenFormat("cerebras-key", ("csk-",), rf"csk-{_DIGIT}[a-z0-9]{{40,}}"),
    TokenFormat("clickhouse-key", ("4b1d",), r"4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])"),
    TokenFormat("clickup-token", ("pk_",), r"pk_\d{6,9}_[A-Z0-9]{32}"),
    TokenFormat("clojars-token", ("CLOJARS_",), r"CLOJARS_[a-z0-9]{60}", anywhere=True),
    TokenFormat("contentful-token", ("CFPAT-",), r"CFPAT-[A-Za-z0-9_-]{40,}", anywhere=True),
    TokenFormat("crates-token", ("cio",), rf"cio{_DIGIT}[A-Za-z0-9]{{32}}(?![A-Za-z0-9])"),
    TokenFormat("cursor-key", ("crsr_",), r"crsr_[a-f0-9]{64}"),
    TokenFormat("defined-networking-token", ("dnkey-",), r"dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}", anywhere=True),
    TokenFormat("dropbox-token", ("sl.",), r"sl\.(?:u\.)?[A-Za-z0-9_-]{120,}"),
    TokenFormat("duffel-token", ("duffel_",), r"duffel_(?:test|live)_[A-Za-z0-9_=-]{43}", anywhere=True),
    TokenFormat("e2b-key", ("e2b_",), r"e2b_[a-f0-9]{40}"),
    TokenFormat("easypost-key", ("EZAK", "EZTK"), r"EZ[AT]K[A-Za-z0-9]{54}"),
    TokenFormat("elevenlabs-key", ("sk_",), r"sk_[a-f0-9]{48}"),
    TokenFormat("facebook-token", ("EAA",), rf"EAA{_DIGIT}[A-Za-z0-9]{{90,}}"),
    TokenFormat("firebase-server-key", (":APA91b",), r"[A-Za-z0-9_-]{11}:APA91b[A-Za-z0-9_-]{100,}", before=(11, 11)),
    TokenFormat("firecrawl-key", ("fc-",), r"fc-[a-f0-9]{32}"),
    TokenFormat("fireworks-key", ("fw_",), rf"fw_{_DIGIT}[A-Za-z0-9]{{22,}}"),
    TokenFormat("flutterwave-key", ("FLWSECK",), r"FLWSECK(?:_TEST|_LIVE)?-[A-Za-z0-9]{12,64}(?:-X)?", anywhere=True),
    TokenFormat("frameio-token", ("fio-u-",), r"fio-u-[A-Za-z0-9_=-]{60,}", anywhere=True),
    TokenFormat(
        "gitlab-token",
        ("GR1348941", "glffct-", "glwt-"),
        r"(?:GR1348941|glffct-|glwt-)[A-Za-z0-9_-]{20,}",
        anywhere=True,
    ),
    TokenFormat("google-api-key", ("AQ.Ab",), r"AQ\.Ab[A-Za-z0-9_-]{40,}"),
    TokenFormat("harness-key", ("pat.", "sat."), r"[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    TokenFormat("honeycomb-key", ("hcaik_", "hcxik_", "hcamk_", "hcxmk_"), r"hc[ax][im]k_[a-z0-9]{20,}"),
    TokenFormat("infisical-token", ("st.",), r"st\.[a-f0-9]{24}\.[a-f0-9]{32}(?:\.[a-f0-9]{32})?"),
    TokenFormat("infracost-key", ("ico-",), r"ico-[A-Za-z0-9]{32}"),
    TokenFormat("intra42-secret", ("s-s4t2",), r"s-s4t2(?:ud|af)-[a-f0-9]{64}", anywhere=True),
    TokenFormat("langsmith-key", ("ls__",), r"ls__[a-f0-9]{32}"),
    TokenFormat("launchdarkly-key", ("sdk-", "api-", "mob-"), rf"(?:sdk|api|mob)-{_UUID}"),
    TokenFormat("llamacloud-key", ("llx-",), rf"llx-{_DIGIT}[A-Za-z0-9]{{40,}}"),
    TokenFormat("lob-key", ("live_",), r"live_(?:pub_)?[a-f0-9]{31,35}"),
    TokenFormat("mapbox-token", ("sk.eyJ",), r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    TokenFormat("maxmind-key", ("_mmk",), r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", before=(36, 36)),
    TokenFormat(
        "modal-token",
        ("ak-", "as-"),
        r"a[ks]-(?=[A-Za-z]{0,21}[0-9])(?=[a-z0-9]{0,21}[A-Z])[A-Za-z0-9]{22}(?![A-Za-z0-9-])",
    ),
    TokenFormat(
        "mollie-key",
        ("live_", "test_"),
        rf"(?:live|test)_{_DIGIT}(?=[a-z0-9]{{0,20}}[A-Z])[A-Za-z0-9]{{30}}(?![A-Za-z0-9_])",
    ),
    TokenFormat("nuget-key", ("oy2",), r"oy2[a-z0-9]{43}"),
    TokenFormat("octopus-key", ("API-",), rf"API-{_DIGIT}[A-Z0-9]{{25,32}}(?![A-Za-z0-9])"),
    TokenFormat("openai-key", ("sk-helicone-", "sk-litellm-"), r"sk-(?:helicone|litellm)-[A-Za-z0-9-]{20,}"),
    TokenFormat("openshift-token", ("sha256~",), r"sha256~[A-Za-z0-9_-]{43}"),
    TokenFormat("paddle-key", ("pdl_",), r"pdl_(?:live|sdbx)_[A-Za-z0-9_]{20,}"),
    TokenFormat(
        "paypal-token",
        ("access_token$",),
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}",
        anywhere=True,
    ),
    TokenFormat("plaid-token", ("access-",), rf"access-(?:sandbox|development|production)-{_UUID}"),
    TokenFormat("polar-token", ("polar_",), r"polar_(?:oat|pat|at_[ou])_[A-Za-z0-9]{30,}"),
    TokenFormat("prefect-key", ("pnu_", "pnb_"), r"pn[ub]_[A-Za-z0-9]{36}"),
    TokenFormat("readme-key", ("rdme_",), r"rdme_[a-z0-9]{70}"),
    TokenFormat("runpod-key", ("rpa_",), r"rpa_[A-Z0-9]{30}[A-Za-z0-9]{8,}"),
    TokenFormat("scaleway-key", ("SCW",), r"SCW[A-Z0-9]{17}(?![A-Za-z0-9])"),
    TokenFormat("scalingo-token", ("tk-us-",), r"tk-us-[A-Za-z0-9_-]{48}"),
    TokenFormat("settlemint-token", ("sm_",), r"sm_[aps]at_[A-Za-z0-9]{16}"),
    TokenFormat("shippo-token", ("shippo_",), r"shippo_(?:live|test)_[a-fA-F0-9]{40}", anywhere=True),
    TokenFormat(
        "sourcegraph-token", ("sgp_", "slk_", "sgd_"), r"(?:sgp_(?:[a-f0-9]{16}_|local_)?|slk_|sgd_)[a-f0-9]{40,64}"
    ),
    TokenFormat(
        "statsig-key", ("secret-",), r"secret-(?=[A-Za-z]{0,20}[0-9])(?=[a-z0-9]{0,20}[A-Z])[A-Za-z0-9]{40,50}"
    ),
    TokenFormat("tencent-key", ("AKID",), r"AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    TokenFormat("together-key", ("tgp_v1_",), r"tgp_v1_[A-Za-z0-9_-]{40,}", anywhere=True),
    TokenFormat("twitch-token", ("oauth:",), rf"oauth:{_DIGIT}[a-z0-9]{{30}}(?![A-Za-z0-9])"),
    TokenFormat("typeform-token", ("tfp_",), r"tfp_[A-Za-z0-9_.=-]{40,}"),
    TokenFormat("volcengine-key", ("AKLT",), r"AKLT[A-Za-z0-9+/_-]{40,}={0,2}"),
    TokenFormat("voyage-key", ("pa-",), r"pa-(?=[A-Za-z_-]{0,30}[0-9])(?=[a-z0-9_-]{0,30}[A-Z])[A-Za-z0-9_-]{40,}"),
    TokenFormat("wandb-key", ("wandb_v1_",), r"wandb_v1_[A-Za-z0-9_]{40,}", anywhere=True),
    TokenFormat("workos-key", ("sk_",), r"sk_(?=[A-Za-z]{0,30}[0-9])a2V5X[A-Za-z0-9]{40,}"),
    TokenFormat("yandex-key", ("AQVN", "y0_"), r"(?:AQVN[A-Za-z0-9_-]{35,}|y0_[A-Za-z0-9_-]{50,})"),
    TokenFormat(
        "zapier-webhook",
        ("hooks.zapier.com/",),
        r"hooks\.zapier\.com/hooks/catch/(\d{4,}/[A-Za-z0-9]{6,})",
        anywhere=True,
    ),
)
