"""Programs that tests call in addition to the packages that README.md names. If one is missing, the test is skipped with a
message."""
import shutil, unittest


def missing(*names):
    """Reason to skip a test that calls these programs: names the first one that is not installed. None if all are."""
    return next((f"{name} is missing" for name in names if not shutil.which(name)), None)


def needs(*names):
    """Decorates a test, or a class of tests, that calls these programs."""
    return unittest.skipIf(missing(*names), missing(*names))


def need(*names):
    """Skips the test or subTest from which it is called."""
    if missing(*names):
        raise unittest.SkipTest(missing(*names))
