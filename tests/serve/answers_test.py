"""Answers of `trainer serve`: those of `trainer predict`, bit for bit, and what it says about rows that it cannot read."""

from __future__ import annotations

import json
import random
import threading
import unittest
from typing import Any

from server import ServeTest, cells, run, write_csv

ROW = {"age": 31, "fare": 7.5, "city": "Rome", "day": "1/2/2024"}


def without_row(answers: list[dict[str, Any]]) -> list[str]:
    """The answers as texts, so that equal means equal bits."""
    return [json.dumps({key: value for key, value in answer.items() if key != "row"}) for answer in answers]


class AnswersTest(ServeTest):
    def predicted(self, rows: list[dict[str, str]], *more: str, model: str = "model.safetensors") -> list[str]:
        write_csv(self.folder / "new.csv", rows)
        done = run(["predict", "--model", model, "--data", "new.csv", "--format", "jsonl", *more], self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return without_row([json.loads(line) for line in done.stdout.splitlines()])

    def test_equal_those_of_predict(self) -> None:
        server = self.serve()
        rows = cells(random.Random(2), 1000)
        expected = self.predicted(rows)
        status, answers = server.predict(rows)
        self.assertEqual(status, 200, answers)
        self.assertEqual([answer["row"] for answer in answers], list(range(len(rows))))
        self.assertEqual(without_row(answers), expected)
        self.assertIn("name", answers[0])
        # One by one, and in other orders of keys.
        for row, wanted in list(zip(rows, expected))[:50]:
            status, answers = server.predict([dict(reversed(row.items()))])
            self.assertEqual((status, without_row(answers)), (200, [wanted]))

    def test_equal_under_load(self) -> None:
        server = self.serve("--threads", "2")
        rows = cells(random.Random(3), 400)
        expected = self.predicted(rows)
        wrong: list[str] = []

        def ask(first: int) -> None:
            connection = server.connect()
            generator = random.Random(first)
            for _ in range(60):
                begin, count = generator.randrange(len(rows)), generator.choice([1, 1, 1, 3, 40])
                connection.request("POST", "/predict", json.dumps(rows[begin:begin + count]))
                response = connection.getresponse()
                answers = json.loads(response.read())
                if response.status != 200 or without_row(answers) != expected[begin:begin + count]:
                    wrong.append(f"{begin}, {count}: {answers}")
            connection.close()

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        metrics = server.metrics()
        self.assertEqual(metrics['millrace_requests_total{path="/predict",code="200"}'], 960)
        self.assertEqual(metrics["millrace_request_seconds_count"], 960)
        self.assertGreater(metrics["millrace_batch_requests_sum"], metrics["millrace_batch_requests_count"],
                           "no requests were joined")

    def test_numbers_and_texts_are_cells(self) -> None:
        server = self.serve()
        same = [ROW, {**ROW, "age": "31"}, {**ROW, "age": 31.0}, {**ROW, "age": "3.1e1"}, {**ROW, "age": 3.1e1}]
        _, answers = server.predict(same)
        self.assertEqual(len(set(without_row(answers))), 1, answers)
        missing = self.predicted([{"age": "", "fare": "7.5", "city": "", "day": "1/2/2024"}])
        _, answers = server.predict([{**ROW, "age": None, "city": None}])
        self.assertEqual(without_row(answers), missing)
        minus = self.predicted([{**{key: str(value) for key, value in ROW.items()}, "age": "-0"}])
        self.assertEqual(without_row(server.predict('[{"age": -0, "fare": 7.5, "city": "Rome", "day": "1/2/2024"}]')[1]),
                         minus)
        number = self.predicted([{"age": "1", "fare": "1", "city": "31", "day": "1/2/2024"}])
        self.assertEqual(without_row(server.predict([{"age": 1, "fare": 1, "city": 31, "day": "1/2/2024"}])[1]), number)

    def test_fields_and_columns_that_are_not_read(self) -> None:
        server = self.serve()
        _, expected = server.predict([ROW])
        named = {"numbers": [31, 7.5], "city": "Rome", "day": "1/2/2024"}
        self.assertEqual(server.predict([named]), (200, expected))
        self.assertEqual(server.predict([{**ROW, "sold": "yes"}]), (200, expected))
        self.assertEqual(server.predict([{**ROW, "sold": [{}]}])[0], 400)
        self.assertEqual(server.predict([]), (200, []))

    def test_options_of_predict(self) -> None:
        server = self.serve("--threshold", "0.9", "--set", "threads=1")
        rows = cells(random.Random(4), 30)
        self.assertEqual(without_row(server.predict(rows)[1]), self.predicted(rows, "--threshold", "0.9"))

    def test_says_what_is_wrong_with_rows(self) -> None:
        server = self.serve()

        def says(rows: Any) -> str:
            status, answer = server.predict(rows)
            self.assertEqual(status, 400, answer)
            self.assertEqual(answer["v"], 1)
            return answer["error"] + ("; " + answer["hint"] if "hint" in answer else "")

        self.assertEqual(says([ROW, {**ROW, "agee": 1}]), 'row 1: there is no column "agee"; did you mean "age"?')
        self.assertEqual(says([{key: value for key, value in ROW.items() if key != "city"}]),
                         'row 0: the column "city" is missing; give null for a missing value')
        self.assertEqual(says([ROW, ROW, {**ROW, "age": "old"}]),
                         'row 2: column "age" (numbers): expected float32, got "old"')
        self.assertIn('row 0: column "day" (day): expected date as "%d/%m/%Y", got "2024-02-01"',
                      says([{**ROW, "day": "2024-02-01"}]))
        self.assertIn('row 0: column "day" (day): the value is required, got ""', says([{**ROW, "day": None}]))
        self.assertIn('the value of "age" is true, expected a number, a text or null', says([{**ROW, "age": True}]))
        self.assertIn('the value of "age" is an object', says([{**ROW, "age": {}}]))
        self.assertIn('the value of "age" is a list', says([{**ROW, "age": [1]}]))
        self.assertIn('the column "age" is given twice', says('[{"age":1,"fare":2,"age":3,"city":"","day":"1/2/2024"}]'))
        self.assertIn('the column "age" is given twice', says([{**ROW, "numbers": [1, 2]}]))
        self.assertIn('the value of "numbers" has 3 values, expected 2', says([{"numbers": [1, 2, 3]}]))
        self.assertIn("the body is an object, expected a list of objects", says(ROW))
        self.assertIn("row 0 is 1, expected an object", says([1]))
        self.assertIn("row 1 is a list, expected an object", says([ROW, [ROW]]))

    def test_says_where_json_is_malformed(self) -> None:
        server = self.serve()
        for body, words in ((b"", "line 1, column 1: unexpected end of input"), (b"[{\"age\": 1,\n  nan}]", "line 2, column 4"),
                            (b"[{\"age\": NaN}]", "line 1, column 10"), (b"[] []", "line 1, column 4"),
                            (b"[{\"age\": \"\xff\"}]", "UTF-8"), (b"[{\"age\": \"\\ud800\"}]", "surrogate"),
                            (b"[{\"age\": 1e999}]", "number overflow"), (b"[" * 100000, "row 0 is a list"),
                            (b"[{\"numbers\": " + b"[" * 100000, "lists in lists"), (b"[{\"age\": 01}]", "line 1, column 11")):
            status, answer = server.predict(body)
            self.assertEqual(status, 400, body[:40])
            self.assertIn(words, answer["error"], body[:40])
        self.assertEqual(server.predict([ROW])[0], 200)


if __name__ == "__main__":
    unittest.main()
