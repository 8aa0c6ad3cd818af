import unittest

from tips import split


class SplitTest(unittest.TestCase):
    def test_rest(self):
        self.assertEqual(split(1000, 3), [334, 333, 333])


unittest.main()
