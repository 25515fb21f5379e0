"""Names that say of a file that it holds secrets. What it holds is another question: see ``redaction``."""

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
_BEGINNINGS = (
    ".env.",
    ".env-",
    ".env_",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "client_secret",
    "service-account",
)
_FOLDERS = frozenset((".ssh", ".gnupg", ".kube", ".docker", ".aws", ".azure", ".oci", ".password-store"))
_SAMPLES = ("example", "sample", "template")


def is_secret_name(name: str) -> bool:
    """Whether a file of this name is held back unless it is forced, in any case of its letters.

    Samples are spared, such as ``.env.example``, and public keys.

    Args:
        name: the last step of a path.
    """
    low = name.lower()
    if low in _NAMES:
        return True
    if low.endswith(_ENDINGS):
        return not (low.endswith(".env") and low.removesuffix(".env") in _SAMPLES)
    return low.startswith(_BEGINNINGS) and _is_meant(low)


def is_secret_folder(name: str) -> bool:
    """Whether what lies in a folder of this name is held back unless it is forced."""
    return name.lower() in _FOLDERS


def is_secret_path(path: str) -> bool:
    """Whether a file of this path is held back: its name says so, or that of a folder it lies in.

    Args:
        path: relative to the project, with slashes.
    """
    *folders, name = path.split("/")
    return is_secret_name(name) or any(map(is_secret_folder, folders))


def _is_meant(low: str) -> bool:
    """Judge a name by its end that begins like that of a secret file."""
    stem, _, ending = low.rpartition(".")
    if low.startswith(".env"):
        return not low.endswith(_SAMPLES)
    if low.startswith("id_"):
        # a key has no ending, or one that somebody made up; code that is about keys has that of code
        return ending != "pub" and (not stem or ending in {"bak", "old", "orig", "backup", "priv", "private"})
    return ending == "json"
