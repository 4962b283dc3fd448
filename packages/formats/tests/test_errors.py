import pickle

import pytest

from headrace.formats import errors

CODES = {
    1: "CancelledError",
    2: "UnknownError",
    3: "InvalidArgumentError",
    4: "DeadlineExceededError",
    5: "NotFoundError",
    6: "AlreadyExistsError",
    7: "PermissionDeniedError",
    8: "ResourceExhaustedError",
    9: "FailedPreconditionError",
    10: "AbortedError",
    11: "OutOfRangeError",
    12: "UnimplementedError",
    13: "InternalError",
    14: "UnavailableError",
    15: "DataLossError",
    16: "UnauthenticatedError",
}


@pytest.mark.parametrize("code", CODES)
def test_codes_map_to_classes_and_back(code):
    error = errors.from_code(code, "text", node_name="n")
    assert type(error).__name__ == CODES[code]
    assert (error.code, error.error_code, error.message, error.node_name) == (
        code,
        code,
        "text",
        "n",
    )
    assert errors.exception_type_from_error_code(code) is type(error)
    assert errors.error_code_from_exception_type(type(error)) == code


def test_constructor_has_the_argument_order_of_tensorflow():
    class FakeOp:
        name = "layer1/logits"

    error = errors.InvalidArgumentError("node_def", FakeOp, "inner sizes differ")
    assert (error.node_def, error.op, error.message) == ("node_def", FakeOp, "inner sizes differ")
    assert error.node_name == "layer1/logits"
    assert str(error) == "inner sizes differ"
    assert errors.OpError(None, None, "m", errors.ABORTED).code == errors.ABORTED


def test_pickled_errors_keep_their_fields():
    error = errors.DataLossError(None, None, "torn", path="/tmp/x", offset=12, node_name="r")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is errors.DataLossError
    assert (copy.message, copy.path, copy.offset, copy.node_name, copy.code) == (
        "torn",
        "/tmp/x",
        12,
        "r",
        15,
    )


def test_unknown_code_gives_unknown_error_and_is_kept():
    error = errors.from_code(99, "new")
    assert isinstance(error, errors.UnknownError)
    assert error.code == 99


def test_from_code_parses_path_and_offset_from_the_message():
    error = errors.from_code(15, "RestoreV2 'a/b': /tmp/it's: at byte 12: 'v' has CRC 1", "a/b")
    assert (error.path, error.offset) == ("/tmp/it's", 12)
    error = errors.from_code(15, "m.index: at byte 0: corrupted")
    assert (error.path, error.offset) == ("m.index", 0)
    error = errors.from_code(3, "shapes differ", path="p")
    assert (error.path, error.offset) == ("p", None)
    assert errors.from_code(3, "shapes differ").path is None
