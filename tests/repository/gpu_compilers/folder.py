# SPDX-License-Identifier: Apache-2.0
"""A folder for each test, and a way to run the scripts of tools/gpu_compilers."""
import io
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace
from unittest import mock


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run_tool(self, module, *arguments):
        """In this process: two dozen interpreters would take longer than all the rest."""
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", [module.__name__, *arguments]), redirect_stdout(out), redirect_stderr(err):
            code = module.main()
        return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())
