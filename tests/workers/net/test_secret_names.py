"""Secret-looking query parameters (M105)."""

import pytest

from workers.net.secret_names import secret_parameter


@pytest.mark.parametrize(
    "query",
    [
        "token=x", "a=1&token=x", "TOKEN=x", "access_token=x", "accessToken=x", "api-key=x", "apikey=x", "X-API-Key=x",
        "password=x", "client_secret=x", "db_password=x", "jwt=x", "sig=x", "signature=x", "Signature=x&Expires=1",
        "X-Amz-Signature=x", "X-Amz-Credential=x", "X-Amz-Security-Token=x", "X-Goog-Signature=x", "AWSAccessKeyId=x",
        "GoogleAccessId=x", "Key-Pair-Id=x", "sv=2020&sig=x", "auth[token]=x", "token[]=x", "a=1;token=x", "token",
        "%74oken=x", "%2574oken=x", "tok%65n=x", "private_token=x", "session_id=x", "ocp-apim-subscription-key=x",
        "a[token]=1", "a%5Btoken%5D=1", "a[b][sig]=1", "a[0][api_key]=x", "a[][jwt]=1", "a.token=1", "openid.sig=x",
        "token[a]=1", "[token]=1", "page[token]=x", "a[Access-Token][0]=1", "a[token=1",
        "key=AIzaSyA0123456789abcdefghijklmnopqrstuv", "u=AKIAIOSFODNN7EXAMPLE", "c=eyJhbGciOiJI.eyJzdWIiOi.c2ln",
    ],
)  # fmt: skip
def test_query_is_secret_when_a_name_or_a_value_says_so(query):
    assert secret_parameter(query)


@pytest.mark.parametrize(
    "query",
    [
        "", "q=token", "q=how+to+sign+a+jwt", "page=2", "key=highway", "code=200", "state=NY", "keyword=secret",
        "tokenizer=bert", "author=me", "design=flat", "page_token=x", "nextPageToken=x", "signup=1", "hash=abc",
        "a[tokenizer]=1", "filter[author]=me", "page[number]=2", "a.b=token",
        "passage=3", "authors=2", "monkey=1", "v=2.0", "a=b%zz", "session_type=talk",
    ],
)  # fmt: skip
def test_query_is_not_secret_when_it_only_looks_alike(query):
    assert not secret_parameter(query)
