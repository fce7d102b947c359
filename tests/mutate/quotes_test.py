"""Finding the text that a mutant quotes in a function: by tokens of C, regardless of space and comments between them, exactly
once.

usage: quotes_test.py
"""
import os, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutate

SOURCE = '''/* f(a) is no definition. */
static int f(int a);

static int
f(int a)
{
	const char *s = "a + b // no comment";

	if (a >
	    limit(a, 1) /* here, too */ &&    // a > limit(a, 1)
	    s[0] != '"')
		return a->n-- - -1;
	return a >> 1 > 2;
}

int
g(int a)
{
	return a > limit(a, 1) && a > limit(a, 1);
}
'''


class Quotes(unittest.TestCase):
    def applied(self, function, old, new="X"):
        return mutate.Mutant("list:1", [f"name {function}", f"- {old}", f"+ {new}"], "f.c", ["opt"]).apply(SOURCE)

    def found(self, function, old, text):
        """Checks that the quote stands for this text, and that nothing else changes."""
        self.assertEqual(SOURCE.count(text), 1)
        self.assertEqual(self.applied(function, old), SOURCE.replace(text, "X"))

    def test_space(self):
        self.found("f", "a>limit(a,1)", "a >\n\t    limit(a, 1)")
        self.found("f", "limit( a , 1 ) && s", "limit(a, 1) /* here, too */ &&    // a > limit(a, 1)\n\t    s")
        self.found("f", "return a->n-- - -1;", "return a->n-- - -1;")

    def test_whole_tokens(self):
        self.found("f", "1 > 2", "1 > 2")
        self.found("f", "a >> 1", "a >> 1")
        self.found("f", "!= '\"'", "!= '\"'")
        for part in "imit(a, 1)", "a > > 1", "a + b", "a - > n", "no comment":
            with self.assertRaisesRegex(mutate.ListError, "has 0 times"):
                self.applied("f", part)

    def test_once(self):
        with self.assertRaisesRegex(mutate.ListError, "g in f.c has 2 times: a > limit"):
            self.applied("g", "a > limit(a, 1)")
        self.found("g", "limit(a, 1) && a > limit(a, 1)", "limit(a, 1) && a > limit(a, 1)")

    def test_removed(self):
        self.assertIn("\treturn  a > limit(a, 1);", self.applied("g", "a > limit(a, 1) &&", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
