"""Names that say that a file holds secrets, and names that only look alike."""

from __future__ import annotations

from satchel.redaction.filenames import is_secret_folder, is_secret_name, is_secret_path
from tables import in_one_test


@in_one_test(
    "name",
    """
    .env .ENV .env.local .env.production .env.example.local .env-prod prod.env id_rsa id_ed25519 id_ecdsa_sk
    id_rsa.bak id_rsa_work server.pem Server.KEY store.p12 store.pfx vault.kdbx .netrc _netrc .npmrc .pypirc
    .pgpass .git-credentials credentials credentials.json client_secret_123.json service-account-prod.json
    terraform.tfstate prod.tfvars secrets.yaml
    """.split(),
)
def test_a_name_that_says_secret_is_one(name: str) -> None:
    assert is_secret_name(name)


@in_one_test(
    "name",
    """
    .env.example .env.sample .env.template .env.local.example example.env env.py environment.ts .envoy.yaml
    id_rsa.pub id_rsa_parser.py secrets.py credentials.py credentials.ts keys.json monkey.py key.go client_secret.py
    service-account.ts public.crt tokenizer.json README.md
    """.split(),
)
def test_a_name_that_only_looks_alike_is_none(name: str) -> None:
    assert not is_secret_name(name)


@in_one_test("name", [".ssh", ".GnuPG", ".kube", ".docker", ".aws"])
def test_folders_of_keys_and_logins_are_secret(name: str) -> None:
    assert is_secret_folder(name)


@in_one_test("name", ["ssh", "src", "docker", "aws"])
def test_folders_that_only_look_alike_are_none(name: str) -> None:
    assert not is_secret_folder(name)


@in_one_test("path", [".env", "deploy/.env", ".aws/config", "home/.docker/config.json"])
def test_a_path_is_secret_by_its_name_or_by_a_folder(path: str) -> None:
    assert is_secret_path(path)


@in_one_test("path", ["docs/a.md", "src/aws/config", ".env.example"])
def test_a_path_without_such_a_name_is_none(path: str) -> None:
    assert not is_secret_path(path)
