"""Tests of the runner itself: a wrong count would hide failures."""

import contextlib
import io
import pathlib
import subprocess
import tempfile
import types
import unittest

import run
from run import FULL, LIBTEST, LINES, QUICK, Check, Counts, Missing, Runner, Unreachable


def python(code):
    return lambda site: ["python3", "-c", code]


def results(*checks, in_ci=False):
    """Runs checks; gives the counts and what is printed."""
    site = types.SimpleNamespace(selected={check.name for check in checks}, install=lambda check: None)
    printed, before = io.StringIO(), run.IN_CI
    run.IN_CI = in_ci
    try:
        with contextlib.redirect_stdout(printed):
            runner = Runner(checks, site)
            runner.run()
    finally:
        run.IN_CI = before
    return str(runner.total), printed.getvalue()


def unavailable(reason):
    def command(site):
        raise reason
    return command


class Counting(unittest.TestCase):
    def test_the_status_of_a_command_decides(self):
        counts, printed = results(Check("good", QUICK, "", python("pass")), Check("bad", QUICK, "", python("print('why'); exit(3)")))
        self.assertEqual(counts, "1 passed, 1 failed, 0 skipped")
        self.assertIn("why", printed)

    def test_results_of_rusts_tests_are_added_up(self):
        text = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured\n"
        code = f"print({text!r}); exit(101)"
        self.assertEqual(results(Check("unit", QUICK, "", python(code), counted=LIBTEST))[0], "5 passed, 1 failed, 1 skipped")

    def test_tests_that_do_not_compile_are_a_failure(self):
        code = "print('error: could not compile'); exit(101)"
        self.assertEqual(results(Check("unit", QUICK, "", python(code), counted=LIBTEST))[0], "0 passed, 1 failed, 0 skipped")

    def test_tests_that_do_not_run_are_a_failure(self):
        for counted in (LIBTEST, LINES):
            self.assertEqual(results(Check("unit", QUICK, "", python("pass"), counted=counted))[0], "0 passed, 1 failed, 0 skipped")

    def test_lines_are_counted_and_an_early_end_fails(self):
        code = "print('ok      one\\nok      two\\nskipped three: no server'); exit(1)"
        self.assertEqual(results(Check("slurm", QUICK, "", python(code), counted=LINES))[0], "2 passed, 1 failed, 1 skipped")

    def test_what_could_be_installed_may_not_be_skipped_in_ci(self):
        missing = Check("browser", QUICK, "", unavailable(Missing("no chromium")))
        outside = Check("advisories", FULL, "", unavailable(Unreachable("no database")))
        self.assertEqual(results(missing, outside)[0], "0 passed, 0 failed, 2 skipped")
        counts, printed = results(missing, outside, in_ci=True)
        self.assertEqual(counts, "0 passed, 1 failed, 1 skipped")
        self.assertIn("no chromium", printed)

    def test_a_check_does_not_run_if_one_before_it_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = pathlib.Path(folder) / "ran"
            counts, printed = results(Check("build", QUICK, "", python("exit(1)")),
                                      Check("demo", QUICK, "", python(f"open({str(mark)!r}, 'w')"), after=("build",)))
            self.assertEqual((counts, mark.exists()), ("0 passed, 2 failed, 0 skipped", False))
            self.assertIn("did not run: build failed", printed)

    def test_a_check_that_raises_does_not_stop_the_others(self):
        counts, _ = results(Check("odd", QUICK, "", unavailable(ValueError("odd"))), Check("good", QUICK, "", python("pass")))
        self.assertEqual(counts, "1 passed, 1 failed, 0 skipped")


class Selecting(unittest.TestCase):
    def test_quick_checks_need_no_full_one(self):
        quick = run.select([])
        self.assertEqual({check.tier for check in quick}, {QUICK})
        names = {check.name for check in quick}
        for check in quick:
            self.assertLessEqual(set(check.after), names, check.name)

    def test_a_name_brings_what_it_needs_first(self):
        self.assertEqual([check.name for check in run.select(["pages"])], ["build", "demo", "pages"])

    def test_full_is_everything_and_names_are_unique(self):
        names = [check.name for check in run.select(["full"])]
        self.assertEqual((len(names), names), (len(set(names)), [check.name for check in run.CHECKS]))

    def test_an_unknown_name_is_an_error(self):
        listed = subprocess.run(["./test", "pagse"], cwd=run.ROOT, capture_output=True, text=True)
        self.assertEqual(listed.returncode, 1)
        self.assertIn("no check called pagse; did you mean pages?", listed.stderr)

    def test_predecessors_stand_before_their_checks(self):
        seen = set()
        for check in run.CHECKS:
            self.assertLessEqual(set(check.after), seen, check.name)
            seen.add(check.name)


if __name__ == "__main__":
    unittest.main()
