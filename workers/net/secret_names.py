"""Secret-looking query parameters (M105): the documented list of what makes a link too private to fetch.

A link that carries a token or a signature acts for whoever made it. Fetching it on an agent's word would spend that
authority, and write it into other people's logs. Names are compared without case and without separators, so that
`X-Amz-Signature`, `x_amz_signature` and `xAmzSignature` are one. Some names are left out because public pages use
them for other things: `key`, `code`, `state`, `hash`, `sid`, `page_token`. What they hold is still looked at.
Names nest in brackets and dots (`user[token]`, `openid.sig`): each part is a name as well as the whole.
"""

import re
from urllib.parse import unquote_plus

NAMES = frozenset(
    {
        # bearer tokens
        "token", "accesstoken", "refreshtoken", "idtoken", "authtoken", "bearertoken", "bearer", "jwt", "oauthtoken",
        "apitoken", "usertoken", "privatetoken", "personaltoken", "jobtoken", "deploytoken", "sessiontoken",
        "securitytoken", "csrftoken", "xsrftoken", "resettoken", "invitetoken", "logintoken", "magictoken", "sastoken",
        # passwords, keys, other secrets
        "password", "passwd", "pwd", "pass", "passphrase", "passcode", "otp", "secret", "apikey", "xapikey", "appkey",
        "authkey", "accesskey", "accesskeyid", "secretkey", "secretaccesskey", "privatekey", "subscriptionkey",
        "credential", "credentials", "auth", "authorization", "authentication",
        # sessions
        "session", "sessionid", "sessionkey", "phpsessid", "jsessionid", "aspsessionid", "samlresponse",
        # signatures: plain, Azure SAS (sig), CloudFront, Google Cloud Storage, Alibaba, Tencent, Akamai
        "sig", "sign", "signature", "hmac", "keypairid", "googleaccessid", "awsaccesskeyid", "ossaccesskeyid",
        "qsignature", "hdnea", "hdnts", "hdntl",
    }
)  # fmt: skip

# Vendors put their own words in front: X-Goog-Signature, client_secret, db_password, Ocp-Apim-Subscription-Key.
ENDINGS = (
    "signature", "secret", "password", "passwd", "credential", "apikey", "accesstoken", "authtoken", "refreshtoken",
    "securitytoken", "sessiontoken", "secretkey", "accesskey", "accesskeyid", "privatekey", "subscriptionkey",
)  # fmt: skip

# Values that announce themselves, whatever the parameter is called.
_VALUES = re.compile(
    r"eyJ[\w-]{8,}\.eyJ[\w-]+\."  # JSON Web Token (RFC 7519)
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}"  # AWS access key id
    r"|AIza[\w-]{35}"  # Google API key
    r"|gh[pousr]_\w{36}|github_pat_\w{22,}|glpat-[\w-]{20}"  # GitHub, GitLab
    r"|xox[abeprs]-[\w-]{10,}"  # Slack
    r"|sk-[\w-]{20,}|sk_live_\w{16,}"  # model providers, Stripe
)

_NESTING = re.compile(r"[\[\].]+")
_SEPARATORS = re.compile(r"[^a-z0-9]+")


def secret_parameter(query: str) -> bool:
    """Whether a query string holds a parameter with the name, or a value with the shape, of a secret.

    Shape: the part after the question mark, percent-encoded as WHATWG wrote it; `;` separates as well as `&`.
    """
    return any(_is_secret(pair) for pair in query.replace(";", "&").split("&") if pair)


def _is_secret(pair: str) -> bool:
    name, _, value = pair.partition("=")
    whole = _decoded(name).lower()
    return any(map(_is_secret_name, (whole, *_NESTING.split(whole)))) or _VALUES.search(_decoded(value)) is not None


def _is_secret_name(name: str) -> bool:
    plain = _SEPARATORS.sub("", name)
    return plain in NAMES or plain.endswith(ENDINGS)


def _decoded(text: str) -> str:
    # Twice, since proxies and frameworks decode a second time; more layers than that, no server undoes.
    return unquote_plus(unquote_plus(text)) if "%" in text else text
