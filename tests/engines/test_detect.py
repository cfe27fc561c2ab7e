import pytest

from pitstop.engines.detect import kind_of


@pytest.mark.parametrize(
    ("listing", "kind"),
    [
        ({"data": [{"id": "m", "owned_by": "vllm"}]}, "vllm"),
        ({"data": [{"id": "m", "owned_by": "llamacpp"}]}, "llamacpp"),
        ({"data": [{"id": "m", "owned_by": "sglang"}]}, "sglang"),
        ({"data": [{"id": "m"}, {"id": "n", "owned_by": "vllm"}]}, "vllm"),
        ({"data": [{"id": "m", "owned_by": "organization"}]}, "openai"),
        ({"data": []}, "openai"),
        ({"data": None}, "openai"),
        ({"data": ["m"]}, "openai"),
        ([], "openai"),
        ("<html>", "openai"),
    ],
)
def test_a_server_is_known_by_the_owner_of_its_models(listing, kind):
    assert kind_of(listing) == kind
