"""The examples in the chapters show what happens: blocks of ```pycon."""

import doctest
import os
import re
import unittest

import numpy  # noqa: F401

TOP = os.environ["CFX_TOP"]
CHAPTERS = "README.md", "doc/python.md"
HOW = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Examples(unittest.TestCase):
    def test_examples_print_what_the_chapters_say(self):
        os.chdir(TOP)
        for chapter in CHAPTERS:
            with open(chapter, encoding="utf-8") as file:
                blocks = re.findall(r"```pycon\n(.*?)```", file.read(), re.S)
            self.assertTrue(blocks, chapter)
            names = {}
            for block in blocks:
                test = doctest.DocTestParser().get_doctest(
                    block, names, chapter, chapter, 0)
                runner = doctest.DocTestRunner(optionflags=HOW)
                runner.run(test, clear_globs=False)
                names = test.globs
                self.assertEqual(runner.failures, 0, chapter)


if __name__ == "__main__":
    unittest.main()
