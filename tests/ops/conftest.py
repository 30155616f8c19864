"""Failing checks show their values, as failing tests do."""

import pytest

pytest.register_assert_rewrite("tests.ops.checks")
