"""Times an exhaustive search of a million vectors of 384 dimensions by libraries and databases, without an index.

The vectors are random directions: an exhaustive search reads all of them, whatever they are. Each time is also told as a multiple of
one read of the same bytes in the same process, because memory is the limit and machines differ. `DOCUMENTS=10000 cargo bench --bench
search -- nothing` prints chunkmill's times in the same form.

    usage: python peers.py [ROWS] [QUESTIONS]
"""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

DIM = 384
K = 10


def percentiles(work, questions, warm=3):
    """Returns the median and the 95th percentile of a question's time, in milliseconds."""
    times = []
    for number in range(warm + len(questions)):
        start = time.perf_counter()
        work(questions[number % len(questions)])
        times.append(1e3 * (time.perf_counter() - start))
    return np.percentile(times[warm:], [50, 95])


def show(name, times, read):
    print(f"{name:<34} p50 {times[0]:7.1f} ms, p95 {times[1]:7.1f} ms, {times[1] / read:5.1f} reads at p95", flush=True)


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    random = np.random.default_rng(1)
    vectors = random.standard_normal((rows, DIM), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    questions = random.standard_normal((count, DIM), dtype=np.float32)
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    whole, asked_whole = (np.rint(127 * of).astype(np.int8) for of in (vectors, questions))
    bits, asked_bits = (np.packbits(of > 0, axis=1) for of in (vectors, questions))
    reads = {}
    for name, values in (("f32", vectors), ("int8", whole), ("bits", bits)):
        words = values.reshape(-1).view(np.uint64)
        reads[name] = percentiles(lambda _, words=words: words.sum(), questions)[0]
        print(f"one read of {name}: {values.nbytes / 1e6:.0f} MB, p50 {reads[name]:.1f} ms, by one thread of numpy")

    import faiss

    index = faiss.IndexFlatIP(DIM)
    index.add(vectors)
    show("FAISS IndexFlatIP", percentiles(lambda q: index.search(q[None], K), questions), reads["f32"])
    del index
    index = faiss.IndexScalarQuantizer(DIM, faiss.ScalarQuantizer.QT_8bit_direct_signed, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors[:1000])
    index.add(127 * vectors)
    show("FAISS SQ 8 bits, direct", percentiles(lambda q: index.search(q[None], K), 127 * questions), reads["int8"])
    index = faiss.IndexScalarQuantizer(DIM, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors[:100_000])
    index.add(vectors)
    show("FAISS SQ 8 bits, trained", percentiles(lambda q: index.search(q[None], K), questions), reads["int8"])
    index = faiss.IndexBinaryFlat(DIM)
    index.add(bits)
    show("FAISS IndexBinaryFlat, 1,000", percentiles(lambda q: index.search(q[None], 1000), asked_bits), reads["bits"])
    del index

    from usearch.index import MetricKind, search

    for name, of, asked, metric in (
        ("f32", vectors, questions, MetricKind.IP),
        ("int8", whole, asked_whole, MetricKind.IP),
        ("bits", bits, asked_bits, MetricKind.Hamming),
    ):
        times = percentiles(lambda q, of=of, metric=metric: search(of, q, K, metric, exact=True), asked)
        show(f"usearch exact {name}", times, reads[name])

    import numkong

    pool = ThreadPoolExecutor(2)
    halves = [(0, rows // 2), (rows // 2, rows)]
    for name, of, asked, pack, product, kind in (
        ("f32", vectors, questions, numkong.dots_pack, numkong.dots_packed, "f32"),
        ("int8", whole, asked_whole, numkong.dots_pack, numkong.dots_packed, "int8"),
        ("bits", bits, asked_bits, numkong.hammings_pack, numkong.hammings_packed, "uint1"),
    ):

        def nearest(question, of=of, pack=pack, product=product, kind=kind):
            packed = pack(question[None], dtype=kind)
            parts = pool.map(lambda part: np.asarray(product(of[part[0] : part[1]], packed)).reshape(-1), halves)
            return np.argpartition(np.concatenate(list(parts)), K)[:K]

        show(f"numkong {name}", percentiles(nearest, asked), reads[name])

    import pyarrow as pa

    import lancedb

    with tempfile.TemporaryDirectory() as folder:
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), DIM)
        small = pa.FixedSizeListArray.from_arrays(pa.array(bits.reshape(-1)), DIM // 8)
        data = pa.table({"id": np.arange(rows), "embedding": column, "signs": small})
        table = lancedb.connect(folder).create_table("t", data)

        def by(name, metric):
            return lambda q: table.search(q, vector_column_name=name).distance_type(metric).select(["id"]).limit(K).to_arrow()

        show("LanceDB f32, no index", percentiles(by("embedding", "dot"), questions[:10]), reads["f32"])
        show("LanceDB bits, no index", percentiles(by("signs", "hamming"), asked_bits[:10]), reads["bits"])
        del table, data

    import duckdb

    database = duckdb.connect()
    data = pa.table({"id": np.arange(rows), "embedding": column})
    database.execute(f"CREATE TABLE t AS SELECT id, embedding::FLOAT[{DIM}] AS embedding FROM data")
    query = f"SELECT id FROM t ORDER BY array_inner_product(embedding, ?::FLOAT[{DIM}]) DESC LIMIT {K}"
    show("DuckDB f32", percentiles(lambda q: database.execute(query, [q.tolist()]).fetchall(), questions[:10]), reads["f32"])


if __name__ == "__main__":
    main()
