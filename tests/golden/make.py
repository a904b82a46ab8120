#!/usr/bin/env python3
"""Writes texts.jsonl and vectors.f32: 200 varied texts and their vectors from sentence-transformers.

The tests compare chunkmill's vectors with these. Run it once, by hand, in an environment with
sentence-transformers, from this folder:

    python make.py /path/to/all-MiniLM-L6-v2

vectors.f32 contains little-endian float32, row-major, one row of 384 values per line of texts.jsonl.
"""

import json
import random
import sys

import numpy
from sentence_transformers import SentenceTransformer

SENTENCES = [
    "The pump starts when the float switch closes and stops thirty seconds after it opens.",
    "Invoices older than ninety days are written off at the end of the quarter.",
    "Our ferry leaves the island at dawn, unless the fog bell is ringing.",
    "To roll back, run `tool revert --to 14` and wait until every replica reports ready.",
    "She kept the letters in a biscuit tin under the third stair.",
    "A hash map trades memory for the chance of constant-time look-ups.",
    "Rain is expected from the west, 12–15 mm by evening, clearing overnight.",
    "Set `retries = 5` and `backoff = \"2s\"`; anything higher hides real outages.",
    "Why does the second request return 409 when the first one timed out?",
    "Die Straßenbahn hält heute nicht am Rathaus, bitte steigen Sie am Markt um.",
    "Le conseil municipal a voté la création d'une piste cyclable près du canal.",
    "El informe llegó tarde, pero las cifras eran correctas y fáciles de leer.",
    "Поезд прибывает на третий путь через пять минут.",
    "昨日の会議では、来年度の予算について話し合いました。",
    "这家小书店每周三晚上举办诗歌朗诵会。",
    "오늘은 바람이 강해서 배가 출항하지 않습니다.",
    "الكتاب على الطاولة بجانب النافذة المفتوحة.",
    "मुझे कल सुबह जल्दी उठना है क्योंकि गाड़ी छह बजे है।",
    "Η βιβλιοθήκη κλείνει νωρίτερα τις Παρασκευές.",
    "naïve café résumé — coöperate, façade, Ångström, ½ cup ≈ 120 ml",
]
FRAGMENTS = [
    "fn main() { println!(\"{}\", 0xFF_u8 as char); }",
    "SELECT name, COUNT(*) FROM orders GROUP BY name HAVING COUNT(*) > 3;",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "- one\n- two\n  - three",
    "https://example.org/a/b?c=d&e=%20f#g",
    "user@example.org, +44 20 7946 0000, 2024-02-29T23:59:60Z",
    "🚲🚀👩‍👩‍👧‍👦 🇳🇴 ❤️‍🔥",
    "\t\ttabs\tand   spaces \u00a0 and\u2003em space",
    "[CLS] [SEP] [MASK] [PAD] are special to some",
    "antidisestablishmentarianism-pneumonoultramicroscopicsilicovolcanoconiosis",
    "a" * 150,
    "ﬁ ﬂ Ⅷ ① ｆｕｌｌｗｉｄｔｈ Å (combining A\u030a)",
    "$E = mc^2$ and \\(\\int_0^1 x\\,dx = \\tfrac12\\)",
    "\u200bzero\u200bwidth\u200d \ufeff bom \u202ertl\u202c",
    "0.1 + 0.2 != 0.3; 1e-9, -17, 3.14159, 1_000_000",
]


def texts():
    random.seed(20240229)
    out = ["", " ", "\n\n", ".", "a", "A", "#", "\u0000nul\u0000", "[UNK]", "ok"]
    out += SENTENCES + FRAGMENTS
    while len(out) < 200:
        size = random.choice([1, 2, 3, 4, 6, 9, 14, 20, 30, 45])
        parts = [random.choice(SENTENCES if random.random() < 0.8 else FRAGMENTS) for _ in range(size)]
        out.append(random.choice([" ", "\n", "\n\n", "\r\n"]).join(parts))
    return out


def main():
    model = SentenceTransformer(sys.argv[1], device="cpu")
    assert model.max_seq_length == 256, model.max_seq_length
    lines = texts()
    vectors = numpy.stack([model.encode(text, convert_to_numpy=True) for text in lines])
    with open("texts.jsonl", "w", encoding="utf-8") as file:
        for text in lines:
            file.write(json.dumps(text, ensure_ascii=True) + "\n")
    vectors.astype("<f4").tofile("vectors.f32")
    print(vectors.shape, "mean norm", numpy.linalg.norm(vectors, axis=1).mean())


if __name__ == "__main__":
    main()
