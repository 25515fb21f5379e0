"""Names of files that hold secrets. The contents are the subject of the rest of the package."""

from __future__ import annotations

_NAMES = frozenset(
    """
    .boto .dockercfg .dockerconfigjson .env .envrc .git-credentials .htpasswd .my.cnf .mylogin.cnf .netrc .npmrc
    .pgpass .pypirc .s3cfg .terraformrc .vault-token _netrc accesstokens.json
    application_default_credentials.json credentials credentials.json credentials.tfrc.json credentials.toml
    key.properties kubeconfig msal_token_cache.json rclone.conf secrets.json secrets.toml secrets.yaml
    secrets.yml terraform.rc
    """.split()
)
_ENDINGS = (
    *(".pem", ".key", ".ppk", ".p8", ".p12", ".pfx", ".pkcs12", ".jks", ".keystore", ".bks", ".agekey"),
    *(".kdb", ".kdbx", ".keychain", ".keychain-db", ".ovpn", ".env", ".tfstate", ".tfstate.backup", ".tfvars"),
)
_BEGINNINGS = tuple(".env. .env- .env_ id_rsa id_dsa id_ecdsa id_ed25519 client_secret service-account".split())
_FOLDERS = frozenset((".ssh", ".gnupg", ".kube", ".docker", ".aws", ".azure", ".oci", ".password-store"))
_SAMPLES = ("example", "sample", "template")


def is_secret_name(name: str) -> bool:
    """Return whether a file name is that of a secret, in any case; samples and public keys are not."""
    low = name.lower()
    if low in _NAMES:
        return True
    if low.endswith(_ENDINGS):
        return not (low.endswith(".env") and low.removesuffix(".env") in _SAMPLES)
    return low.startswith(_BEGINNINGS) and _has_secret_ending(low)


def is_secret_folder(name: str) -> bool:
    return name.lower() in _FOLDERS


def is_secret_path(path: str) -> bool:
    """Return whether a path with slashes, relative to the project, has a secret name or folder."""
    *folders, name = path.split("/")
    return is_secret_name(name) or any(map(is_secret_folder, folders))


def _has_secret_ending(low: str) -> bool:
    stem, _, ending = low.rpartition(".")
    if low.startswith(".env"):
        return not low.endswith(_SAMPLES)
    if low.startswith("id_"):
        # a key has no ending or an unofficial one; code about keys has the ending of code
        return ending != "pub" and (not stem or ending in {"bak", "old", "orig", "backup", "priv", "private"})
    return ending == "json"
