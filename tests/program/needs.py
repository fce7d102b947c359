"""Programs that tests call beyond the packages that README.md names. Where one is missing, a test is skipped, and says so."""
import shutil, unittest


def missing(*names):
    """The reason to skip a test that calls these programs: the first one that is not installed. None if all are."""
    return next((f"{name} is missing" for name in names if not shutil.which(name)), None)


def needs(*names):
    """Decorates a test, or a class of tests, that calls these programs."""
    return unittest.skipIf(missing(*names), missing(*names))


def need(*names):
    """Skips the test, or the subTest, from which it is called."""
    if missing(*names):
        raise unittest.SkipTest(missing(*names))
