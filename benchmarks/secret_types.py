"""Types of secrets as templates: nothing here is one, as every value is drawn from a seed when it is needed.

``{hex:32}`` stands for 32 random characters of the named alphabet, ``«`` and ``»`` for the limits of the secret.
Independent of the tests' samples and of the tables of the program: written from the formats that providers show and
from the files and commands in which secrets are kept.
"""
# ruff: noqa: E501

from __future__ import annotations

# What providers issue with a telling prefix; each is put into one of PLACES, drawn at random.
PREFIXED = """
anthropic: sk-ant-api03-{u:93}AA
openai project: sk-proj-{u:120}
openai legacy: sk-{an:48}
openrouter: sk-or-v1-{hex:64}
deepseek: sk-{hex:32}
groq: gsk_{an:52}
xai: xai-{an:80}
perplexity: pplx-{an:48}
hugging face: hf_{an:34}
replicate: r8_{an:37}
nvidia: nvapi-{u:64}
langsmith: lsv2_pt_{hex:32}_{hex:10}
langfuse: sk-lf-{uuid}
tavily: tvly-dev-{an:32}
jina: jina_{hex:32}{an:28}
pinecone: pcsk_{an:6}_{an:63}
firecrawl: fc-{hex:32}
elevenlabs: sk_{hex:48}
voyage: pa-{u:43}
cerebras: csk-{al:48}
fireworks: fw_{an:24}
llamacloud: llx-{an:48}
together: tgp_v1_{u:43}
brave search: BSA{u:28}
google api: AIza{u:35}
google oauth secret: GOCSPX-{u:28}
google access token: ya29.{u:160}
aws access key: AKIA{B32:16}
aws temporary key: ASIA{B32:16}
azure client secret: {an:3}8Q~{an:34}
alibaba: LTAI5t{an:18}
tencent: AKID{an:32}
digitalocean: dop_v1_{hex:64}
cloudflare: cfut_{an:48}
heroku: HRKU-AA{u:58}
fly: fm2_{b:120}
render: rnd_{an:28}
vercel: vcp_{an:56}
vercel blob: vercel_blob_rw_{an:16}_{an:30}
netlify: nfp_{an:36}
neon: napi_{al:64}
supabase: sbp_{hex:40}
planetscale: pscale_tkn_{u:43}
databricks: dapi{hex:32}
github classic: ghp_{an:36}
github fine-grained: github_pat_{an:22}_{an:59}
github app: ghs_{an:36}
gitlab: glpat-{u:20}
gitlab runner: glrt-{u:20}
bitbucket app password: ATBB{an:32}
bitbucket server: BBDC-{b:44}
atlassian: ATATT3xFfGF0{u:170}
npm: npm_{an:36}
pypi: pypi-AgEIcHlwaS5vcmc{u:120}
rubygems: rubygems_{hex:48}
crates.io: cio{an:32}
nuget: oy2{al:43}
docker hub: dckr_pat_{u:27}
circleci: CCIPAT_{an:22}_{hex:40}
buildkite: bkua_{hex:40}
terraform cloud: {an:14}.atlasv1.{u:67}
pulumi: pul-{hex:40}
vault: hvs.{u:95}
doppler: dp.pt.{an:43}
infisical: st.{hex:24}.{hex:32}.{hex:32}
1password: ops_eyJ{an:300}
tailscale auth: tskey-auth-{an:12}CNTRL-{an:32}
tailscale api: tskey-api-{an:12}CNTRL-{an:32}
sonarqube: squ_{hex:40}
sentry: sntryu_{hex:64}
grafana service account: glsa_{an:32}_{hex:8}
grafana cloud: glc_eyJ{an:100}
grafana key: eyJrIjoi{an:80}
new relic: NRAK-{AN:27}
dynatrace: dt0c01.{AN:24}.{AN:64}
posthog: phx_{an:44}
launchdarkly: sdk-{uuid}
slack bot: xoxb-{d:12}-{d:13}-{an:24}
slack user: xoxp-{d:12}-{d:12}-{d:13}-{hex:32}
slack app: xapp-1-A{AN:10}-{d:13}-{hex:64}
discord bot in a note: DISCORD_TOKEN MTk4{an:21}.{u:6}.{u:38}
telegram: {d:10}:AA{u:33}
twilio: SK{hex:32}
sendgrid: SG.{u:22}.{u:43}
mailgun: key-{hex:32}
mailchimp: {hex:32}-us12
resend: re_{an:8}_{an:24}
brevo: xkeysib-{hex:64}-{an:16}
stripe live: sk_live_{an:24}
stripe restricted: rk_live_{an:99}
stripe webhook: whsec_{an:32}
square: EAAA{u:60}
shopify: shpat_{hex:32}
hubspot: pat-na1-{uuid}
airtable: pat{an:14}.{hex:64}
notion: ntn_{d:11}{an:35}
linear: lin_api_{an:40}
figma: figd_{u:40}
postman: PMAK-{hex:24}-{hex:34}
contentful: CFPAT-{u:43}
mapbox: sk.eyJ{an:60}.{u:22}
facebook: EAAC{an:150}
dropbox: sl.{u:135}
typeform: tfp_{u:59}
artifactory: AKCp{an:69}
octopus: API-{AN:26}
shippo: shippo_live_{hex:40}
age: AGE-SECRET-KEY-1{B32:58}
json web token: eyJ{an:33}.eyJ{an:80}.{u:43}
"""

PLACES = """
TOKEN={x}
export SERVICE_CREDENTIAL="{x}"
{{"value": "{x}", "enabled": true}}
the deploy on staging runs with {x} since monday
client = Client("{x}")
curl -H "Authorization: Bearer {x}" https://api.internal/v1/me
- name: CREDENTIAL
  value: {x}
| staging | {x} | ada |
"""
"""Places in which only the secret itself may be what tells; one to a line, but for the pair."""

# What providers issue without a prefix: the name alone says what it is; each is put into one of ASSIGNMENTS.
NAMED = """
datadog api key: DD_API_KEY = {hex:32}
datadog app key: DD_APP_KEY = {hex:40}
algolia admin key: ALGOLIA_ADMIN_KEY = {hex:32}
twilio auth token: TWILIO_AUTH_TOKEN = {hex:32}
heroku api key: HEROKU_API_KEY = {uuid}
snyk token: SNYK_TOKEN = {uuid}
exa key: EXA_API_KEY = {uuid}
cohere key: COHERE_API_KEY = {an:40}
mistral key: MISTRAL_API_KEY = {an:32}
deepgram key: DEEPGRAM_API_KEY = {hex:40}
wandb key: WANDB_API_KEY = {hex:40}
fastly token: FASTLY_API_TOKEN = {u:32}
okta token: OKTA_API_TOKEN = 00{u:40}
auth0 client secret: AUTH0_CLIENT_SECRET = {u:64}
azure cognitive key: AZURE_OPENAI_API_KEY = {hex:32}
azure devops pat: AZURE_DEVOPS_EXT_PAT = {b32:52}
cloudinary secret: CLOUDINARY_API_SECRET = {u:27}
trello token: TRELLO_TOKEN = {hex:64}
spotify client secret: SPOTIFY_CLIENT_SECRET = {hex:32}
twitter access secret: TWITTER_ACCESS_TOKEN_SECRET = {an:45}
elastic key: ELASTIC_API_KEY = {b:56}==
pagerduty key: PAGERDUTY_ROUTING_KEY = {hex:32}
linode token: LINODE_TOKEN = {hex:64}
hetzner token: HCLOUD_TOKEN = {an:64}
scaleway key: SCW_SECRET_KEY = {uuid}
travis token: TRAVIS_TOKEN = {u:22}
codecov token: CODECOV_TOKEN = {uuid}
aws secret key: AWS_SECRET_ACCESS_KEY = {b:40}
jwt secret: JWT_SECRET = {b:43}=
django secret key: DJANGO_SECRET_KEY = django-insecure-{lp:50}
rails key base: SECRET_KEY_BASE = {hex:128}
laravel app key: APP_KEY = base64:{b:43}=
encryption key: ENCRYPTION_KEY = {hex:64}
session secret: SESSION_SECRET = {an:32}
database password: DB_PASSWORD = {pw}
admin password: ADMIN_PASSWORD = {pw}
smtp password: SMTP_PASSWORD = {L:16}
redis password: REDIS_PASSWORD = {an:24}
github pat: GH_PAT = {hex:40}
webhook secret: WEBHOOK_SECRET = {hex:40}
cosmos primary key: COSMOS_ACCOUNT_KEY = {b:86}==
"""

ASSIGNMENTS = """
{N}={x}
export {N}={x}
export {N}="{x}"
{N}: "{x}"
{N}: {x}
{n} = "{x}"
"{n}": "{x}",
"{c}": "{x}"
const {c} = "{x}";
let {c}: string = '{x}';
private static final String {N} = "{x}";
{c} := "{x}"
{n} = '{x}'
:{n} => "{x}",
${n} = '{x}';
$env:{N} = "{x}"
setx {N} "{x}"
ENV {N}={x}
ENV {N} {x}
#define {N} "{x}"
<{c}>{x}</{c}>
<add key="{C}" value="{x}" />
define('{N}', '{x}');
os.environ.setdefault("{N}", "{x}")
os.getenv("{N}", "{x}")
- name: {N}
  value: "{x}"
{{"name": "{N}", "value": "{x}"}}
-e {N}={x} \\
{n} <- "{x}"
var {c} string = "{x}"
"""
"""Assignments of a name: as it is, in snake_case, in camelCase and in PascalCase."""

# Whole places, in which the secret stands between « and ».
WHOLE = r"""
netrc: machine api.internal login ada password «{pw}»
netrc in lines: machine git.internal\n  login ada\n  password «{pw}»
pgpass: db.internal:5432:notes:ada:«{pw}»
htpasswd apr1: ada:«$apr1${c:8}${c:22}»
htpasswd bcrypt: ada:«$2y$05${c:53}»
shadow: ada:«$6${c:16}${c:86}»:19000:0:99999:7:::
django hash: «pbkdf2_sha256$600000${an:22}${b:43}=»
ldap hash: userPassword: {{SSHA}}«{b:32}»
argon2 hash: «$argon2id$v=19$m=65536,t=3,p=4${b:22}${b:43}»
basic header: Authorization: Basic «{basic}»
bearer header: Authorization: Bearer «{an:40}»
token header: Authorization: token «{hex:40}»
api key header: X-API-Key: «{an:32}»
vendor key header: Ocp-Apim-Subscription-Key: «{hex:32}»
private token header: PRIVATE-TOKEN: «{u:20}»
vault header: X-Vault-Token: «s.{an:24}»
cookie header: Cookie: theme=dark; sessionid=«{al:32}»; lang=en
set-cookie header: Set-Cookie: connect.sid=«s%3A{u:32}.{b:43}»; Path=/; HttpOnly
php session: Cookie: PHPSESSID=«{al:26}»
jwt cookie: Cookie: auth_token=«eyJ{an:33}.eyJ{an:80}.{u:43}»
postgres url: DATABASE_URL=postgres://ada:«{pwu}»@db.internal:5432/notes
postgresql url in code: engine = create_engine("postgresql+psycopg2://ada:«{pwu}»@db/notes")
mysql url: mysql://root:«{pwu}»@10.0.0.5:3306/shop
mongodb url: mongodb+srv://ada:«{pwu}»@cluster0.abcde.mongodb.net/?retryWrites=true
redis url: redis://:«{an:24}»@cache.internal:6379/0
rediss url: rediss://default:«{an:24}»@eu1-fly-1.upstash.io:6379
amqp url: amqp://ada:«{pwu}»@mq.internal:5672/vhost
kafka jaas: org.apache.kafka.common.security.plain.PlainLoginModule required username="ada" password="«{pw}»";
clickhouse url: clickhouse://default:«{pwu}»@ch.internal:9000/logs
smtp url: smtps://mailer:«{pwu}»@smtp.internal:465
ftp url: ftp://ada:«{pwu}»@files.internal/incoming
git url with token: git clone https://oauth2:«{an:30}»@git.internal/team/app.git
git url with user token: https://«{an:40}»@git.internal/team/app.git
proxy url: HTTPS_PROXY=http://ada:«{pwu}»@proxy.internal:3128
sentry dsn: SENTRY_DSN=https://«{hex:32}»@o12345.ingest.sentry.io/67890
jdbc query: jdbc:postgresql://db.internal/notes?user=ada&password=«{an:16}»
jdbc oracle: jdbc:oracle:thin:ada/«{pwa}»@db.internal:1521/ORCL
ado.net: Server=tcp:db.internal,1433;Initial Catalog=notes;User ID=ada;Password=«{pwa}»;Encrypt=True;
ado.net plain word: Data Source=db;User Id=ada;Password=«{L:10}»;
odbc: Driver=ODBC;Server=db;Uid=ada;Pwd=«{pwa}»;
libpq: host=db.internal port=5432 dbname=notes user=ada password=«{pwa}» sslmode=require
azure storage: DefaultEndpointsProtocol=https;AccountName=notes;AccountKey=«{b:86}==»;EndpointSuffix=core.windows.net
azure service bus: Endpoint=sb://notes.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«{b:43}=»
azure sas: https://notes.blob.core.windows.net/c/f?sv=2022-11-02&sr=b&sp=r&sig=«{b:43}%3D»
aws presigned: https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=«{hex:64}»
google signed: https://storage.googleapis.com/b/o?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Signature=«{hex:256}»
query api key: GET https://api.internal/v1/items?api_key=«{hex:32}»&page=2
query access token: https://graph.internal/me?access_token=«{an:60}»
slack webhook: https://hooks.slack.com/services/«T{AN:9}/B{AN:10}/{an:24}»
discord webhook: https://discord.com/api/webhooks/{d:18}/«{u:68}»
teams webhook: https://acme.webhook.office.com/webhookb2/«{uuid}@{uuid}/IncomingWebhook/{hex:32}/{uuid}»
feishu webhook: https://open.feishu.cn/open-apis/bot/v2/hook/«{uuid}»
wecom webhook: https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=«{uuid}»
dingtalk webhook: https://oapi.dingtalk.com/robot/send?access_token=«{hex:64}»
google chat webhook: https://chat.googleapis.com/v1/spaces/A/messages?token=«{u:43}%3D»
zapier webhook: https://hooks.zapier.com/hooks/catch/«{d:7}/{al:7}»/
mattermost webhook: https://chat.internal/hooks/«{al:26}»
curl user: curl -u ada:«{pw}» https://api.internal/v1/me
curl user long: curl -s --user "ada:«{pw}»" https://api.internal/v1/me
curl api key header: curl -H "X-Api-Key: «{hex:40}»" https://api.internal
wget password: wget --user=ada --password=«{pw}» https://files.internal/a.tgz
mysql option: mysql -u root -p«{pwa}» notes
mysqldump option: mysqldump -h db.internal -u ada -p'«{pw}»' notes > notes.sql
mysql long option: mysql --user=ada --password=«{pwa}» notes
psql variable: PGPASSWORD=«{pwa}» psql -h db.internal -U ada notes
mysql variable: MYSQL_PWD=«{pwa}» mysqladmin status
sshpass: sshpass -p «{pwa}» ssh ada@host.internal
sshpass quoted: sshpass -p '«{pw}»' scp a.txt ada@host.internal:
redis-cli: redis-cli -h cache.internal -a «{an:24}» ping
mongosh: mongosh --host db.internal -u ada -p «{pwa}» notes
docker login: docker login -u ada -p «{an:24}» registry.internal
docker login long: docker login registry.internal --username ada --password «{pwa}»
az login: az login --service-principal -u {uuid} -p «{an:34}» --tenant {uuid}
openssl: openssl rsa -in a.pem -passin pass:«{pwa}» -out b.pem
htpasswd command: htpasswd -bc .htpasswd ada «{pwa}»
aws configure: aws configure set aws_secret_access_key «{b:40}»
kubectl literal: kubectl create secret generic db --from-literal=password=«{pwa}»
helm set: helm upgrade app ./chart --set auth.password=«{pwa}»
npm config: npm config set //registry.npmjs.org/:_authToken «{uuid}»
npmrc: //registry.internal/:_authToken=«{uuid}»
npmrc basic: //registry.internal/:_auth=«{basic}»
npmrc password: //registry.internal/:_password="«{b64pw}»"
pypirc: [pypi]\nusername = ada\npassword = «{pwa}»
pip url: pip install --index-url https://ada:«{pwu}»@pypi.internal/simple notes
maven settings: <server><id>nexus</id><username>ada</username><password>«{pwa}»</password></server>
gradle properties: nexusPassword=«{pwa}»
gradle kotlin: credentials {{ username = "ada"; password = "«{pw}»" }}
nuget config: <add key="ClearTextPassword" value="«{pwa}»" />
composer auth: {{"http-basic": {{"repo.internal": {{"username": "ada", "password": "«{pw}»"}}}}}}
docker config: {{"auths": {{"registry.internal": {{"auth": "«{basic}»"}}}}}}
kubeconfig key: users:\n- name: ada\n  user:\n    client-key-data: «LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt{b:400}=»
kubeconfig token: users:\n- name: ada\n  user:\n    token: «{an:64}»
kubernetes secret: apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  connection: «{b64text}»\n
kubernetes secret password: apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  password: «{b64pw}»\n
kubernetes string data: apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  dsn: «{an:20}»\n
docker compose: services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: «{L:9}»\n      POSTGRES_USER: ada
docker compose list: environment:\n  - POSTGRES_PASSWORD=«{pwa}»\n  - POSTGRES_USER=ada
github workflow: env:\n  NPM_AUTH: «{hex:40}»
gitlab ci: variables:\n  DEPLOY_TOKEN: "«{u:26}»"
jenkins: withCredentials([string(credentialsId: 'x', variable: 'T')]) {{ sh 'login --token «{hex:34}»' }}
terraform variable: variable "db_password" {{\n  type    = string\n  default = "«{pw}»"\n}}
terraform argument: resource "aws_db_instance" "notes" {{\n  master_password = "«{pw}»"\n}}
tfvars: db_password = "«{pw}»"
ansible vars: ansible_become_pass: «{pwa}»
cloudformation: MasterUserPassword: «{pwa}»
spring properties: spring.datasource.password=«{pwa}»
spring yaml: spring:\n  datasource:\n    password: «{pwa}»
php wp-config: define( 'DB_PASSWORD', '«{pw}»' );
php salt: define( 'AUTH_KEY', '«{pw}{an:50}»' );
android strings: <string name="google_maps_key">«{u:39}»</string>
plist: <key>APIKey</key>\n\t<string>«{an:32}»</string>
web.config machine key: <machineKey validationKey="«{HEX:64}»" decryptionKey="{HEX:48}" />
tomcat users: <user username="ada" password="«{pwa}»" roles="manager"/>
redis.conf: requirepass «{pwa}»
redis replica: masterauth «{an:32}»
wireguard: [Interface]\nPrivateKey = «{b:43}=»
wpa supplicant: network={{\n  ssid="lab"\n  wpa_passphrase="«{pwa}»"\n}}
cisco: username ada privilege 15 password 0 «{pwa}»
powershell secure string: ConvertTo-SecureString "«{pw}»" -AsPlainText -Force
powershell secure string named: $s = ConvertTo-SecureString -String '«{pw}»' -AsPlainText -Force
powershell parameter: Connect-Thing -User ada -Password "«{pw}»"
sql create user: CREATE USER ada WITH PASSWORD '«{pw}»';
sql alter role: ALTER ROLE ada PASSWORD '«{pw}»'
sql identified by: CREATE USER 'ada'@'%' IDENTIFIED BY '«{pw}»';
sql set password: SET PASSWORD FOR 'ada' = '«{pw}»';
python requests: requests.get(url, auth=("ada", "«{pw}»"))
python basic auth: HTTPBasicAuth('ada', '«{pw}»')
python dict: conn = dict(user="ada", password="«{pw}»")
python connect: psycopg2.connect(host="db", user="ada", password='«{pw}»')
javascript fallback: const t = process.env.API_TOKEN || "«{hex:40}»";
shell default: TOKEN="${{TOKEN:-«{hex:40}»}}"
java setter: ds.setPassword("«{pw}»");
java builder: .password("«{pw}»")
kotlin value: val apiKey = "«{an:32}»"
swift constant: let apiKey: String = "«{an:32}»"
rust constant: const API_KEY: &str = "«{an:32}»";
c array: static const char api_key[] = "«{hex:32}»";
vb: Dim password As String = "«{pw}»"
csharp credential: new NetworkCredential("ada", "«{pw}»")
perl: my $password = '«{pw}»';
elixir config: config :app, secret_key_base: "«{b:64}»"
prose password: The password is «{pw}», please do not share it.
prose password for: fyi the password for the staging database is «{pwa}»
prose quoted: the admin password is now "«{pw}»"
prose token: The API token we use in staging is «{hex:40}».
prose key: api key for the weather service: «{an:32}»
prose log in: log in as ada with password «{pw}»
markdown password: - **Password:** `«{pw}»`
markdown table: | password | «{pw}» |
rsa private key: -----BEGIN RSA PRIVATE KEY-----\n«{b:64}\n{b:64}\n{b:40}»\n-----END RSA PRIVATE KEY-----
openssh private key: -----BEGIN OPENSSH PRIVATE KEY-----\n«{b:70}\n{b:70}\n{b:40}=»\n-----END OPENSSH PRIVATE KEY-----
pgp private key: -----BEGIN PGP PRIVATE KEY BLOCK-----\n\n«{b:64}\n{b:64}\n={b:4}»\n-----END PGP PRIVATE KEY BLOCK-----
key in json: "private_key": "-----BEGIN PRIVATE KEY-----\\n«{b:64}\\n{b:64}»\\n-----END PRIVATE KEY-----\\n"
putty key: PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: ada\nPublic-Lines: 2\n{b:64}\n{b:16}\nPrivate-Lines: 1\n«{b:48}»\nPrivate-MAC: {hex:64}
seed phrase: seed phrase: «{words:12}»
mnemonic: MNEMONIC="«{words:24}»"
totp uri: otpauth://totp/Acme:ada?secret=«{B32:32}»&issuer=Acme
rclone: [remote]\ntype = s3\nsecret_access_key = «{b:40}»
s3cmd: secret_key = «{b:40}»
aws csv: ada,AKIA{B32:16},«{b:40}»
gcloud legacy: "client_secret": "«{u:24}»", "type": "authorized_user"
firebase server key: AAAA{an:7}:«APA91b{u:134}»
license key: license_key=«{AN:5}-{AN:5}-{AN:5}-{AN:5}-{AN:5}»
"""
