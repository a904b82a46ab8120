//! reStructuredText from the file to the layer: its blocks, its places, and the count of what is left out.

use chunkmill_text::document::{Document, DropReason, Layer, visible_chars};

use crate::check::{kept_and_dropped, layer};

/// Reads a text, checks that all its characters are counted, and returns the layer.
fn counted(text: &str) -> Layer {
    let layer = layer("a.rst", text);
    let (kept, dropped) = kept_and_dropped(&layer);
    assert_eq!(kept + dropped, visible_chars(text), "{kept} kept, {dropped} dropped of {text:?}\n{}", layer.text);
    layer
}

#[track_caller]
fn reads(text: &str, expected: &str) {
    assert_eq!(counted(text).text, expected);
}

const SAMPLES: [&str; 9] = [
    "=====\nTitle\n=====\n\n:Author: Jane Doe\n:Date: $Date: 2024-01-01 $\n:orphan:\n\nIntro *em* **strong** ``a`b`` `x y`\\ s.\n\n.. _my label:\n.. _other:\n\nSection\n-------\n\nSee `my label`_, Section_ and `site <http://a.b/c>`_ (site_), http://x.y/z_.\n\nDeep\n~~~~\n\n----\n\nDone [1]_, [#]_, [#n]_, [*]_, [CIT]_, |v| |none|.\n\n.. [1] One.\n.. [#] Two.\n   More.\n.. [#n] Three.\n.. [*] Four.\n.. [CIT] Five.\n.. |v| replace:: *1.0*\n.. comment\n   more\n\n..\n\n  quote\n\n  -- Me\n",
    "- a\n- b\n\n  - c\n    d\n\n    e\n  - f\n\n1. one\n2. two\n\n#. auto\n#. next\n\na) x\nb) y\n\n(i) r\n(ii) s\n\nA. Einstein was\na man.\n\nterm\n  Meaning.\n\n  More.\nother : class\n  Is.\n\n:field: text\n:param x: *y*\n  more\n\n-a, --all  All of it.\n-b FILE\n    Bee.\n/V  Vee.\n\n| line\n|   deep\n|\n| long\n  more\n",
    "Example::\n\n    code *x*\n\n      deep\n\nNext ::\n\n> a\n> b\n\n::\n\n\tx\n\t  y\n\n>>> 1 + 1\n2\n\n.. code-block:: python\n   :linenos:\n   :caption: A *caption*\n\n   def f():\n       pass\n\n.. highlight:: c\n\nC::\n\n  int x;\n",
    "+-----+-----+\n| a   | b   |\n+=====+=====+\n| c d | e   |\n| f   +-----+\n|     | g   |\n+-----+-----+\n| wide      |\n+-----------+\n\n===  ====\nA    B\n===  ====\n1    two\n     more\n\\    x\n漢   y\n===  ====\n\n=== === ===\n  ab     c\n------- ---\n a   b   c\n=== === ===\n1   2   3\n=== === ===\n\n.. list-table:: T\n   :header-rows: 1\n\n   * - x\n     - y\n   * - 1\n     - *2*\n\n       3\n\n.. csv-table:: C\n   :header: \"h 1\", h2\n\n   \"a \"\"q\"\"\", b\n   \"c\n   d\", e\n",
    ".. note:: Text here\n   and more.\n\n   Second.\n\n.. warning::\n\n   - a\n\n.. admonition:: My *title*\n   :class: x\n\n   Body.\n\n.. versionadded:: 1.2\n   The x.\n\n.. deprecated:: 3.0 Use y.\n\n.. image:: a b.png\n   :alt: Alt\n     text\n   :target: http://x\n\n.. figure:: f.png\n\n   Caption.\n\n   Legend.\n\n.. math:: x^2\n\n.. math::\n   :label: eq\n\n   a\n\n   b\n\n.. rubric:: Rub\n\n.. toctree::\n   :maxdepth: 2\n   :caption: Contents\n\n   intro\n   The API <api/index>\n   *\n\n.. include:: x.txt\n   :start-line: 3\n\n.. raw:: html\n\n   <br>\n\n.. raw:: html\n\n   <p>Seen</p>\n\n.. only:: html\n\n   Yes.\n\n.. index:: single: x; y\n\n.. foo:: arg\n   :opt: v\n\n   Body.\n",
    ".. py:class:: Foo(a, b)\n   :module: m\n\n   Is a class.\n\n   .. py:method:: bar(x) -> int\n                  baz()\n\n      Does.\n\n.. c:function:: int f(void)\n\n.. option:: -o FILE, --out FILE\n\n   Writes.\n\n.. glossary::\n\n   a term\n   another\n      Means.\n\n   .. comment\n\n   b\n      Is.\n",
    "See :ref:`Text <my-label>`, :ref:`lab`, :doc:`/a/b`, :func:`~os.path.join`, :term:`x y`, :math:`a\\b`, H\\ :sub:`2`\\ O, `x`:code:, :pep:`8`, :kbd:`Ctrl-C`, :meth:`t <m.n>`, `anon`__, `u <x_>`__, other__.\n\n__ http://one\n.. __: two_\n.. _two: http://two\n.. _three: two_\n.. _`q: r`: http://q\n\n`q: r`_ three_ _`here` and here_.\n|img|_\n\n.. |img| image:: i.png\n   :alt: pic\n.. _img: http://img\n.. |u| unicode:: 0x2014 x .. dash\n\n|u|\n",
    "*a **b `c ``d |e \\* \\\\ \\\n\n**\n\n****\n\n__init__ a_b _c d__e foo_ `bar\n\n\"*\" (*) '`' :a:`b\n\n[1]_x [x] [^a]_ |a\n",
    "\u{feff}A\r\n=\r\n\r\n*\ta\r\n\tb\r\n\r\n  q\r\n é\r\n\u{a0}nbsp\r\n\x0b\r\n+--+\r\n|é|\r\n+--+\r\n",
];

#[test]
fn sections_have_the_level_of_their_line() {
    let layer = counted(SAMPLES[0]);
    let document = Document::parse("a.rst".into(), layer.clone());
    let sections: Vec<_> = document.sections.iter().map(|s| (s.level, s.title.as_str(), s.anchor.as_str())).collect();
    assert_eq!(sections, [(1, "Title", "title"), (2, "Section", "other"), (3, "Deep", "deep")]);
    let read = layer.structure.expect("a reader wrote it");
    assert_eq!(read.title.as_deref(), Some("Title"));
    assert_eq!(read.metadata["author"], "Jane Doe");
    assert_eq!(read.metadata["date"], "2024-01-01");
    assert!(
        document
            .anchors
            .iter()
            .any(|(name, at)| name == "my-label" && layer.text[*at..].trim_start().starts_with("## Section"))
    );
}

#[test]
fn all_samples_are_counted() {
    for sample in SAMPLES {
        counted(sample);
    }
}

#[test]
fn links_go_where_their_names_are_defined() {
    reads(
        "`a b`_, one_, x__ and `t <http://t>`_, t_.\n\n.. _a b:\n\nHere.\n\n.. _one: http://one\n__ http://two\n",
        "[a b](#a-b), [one](http://one), [x](http://two) and [t](http://t), [t](http://t).\n\nHere.\n",
    );
    reads(
        "An _`inner target` and `inner target`_, none_.\n",
        "An inner target and [inner target](#inner-target), none_.\n",
    );
}

#[test]
fn roles_are_code_or_links() {
    reads(
        ":ref:`Text <lab>`, :doc:`/a/b`, :func:`~os.path.join`, :math:`a\\b`, H\\ :sub:`2`\\ O, :pep:`8`.\n",
        "[Text](#lab), [/a/b](/a/b.rst), `os.path.join`, $a\\b$, H2O, [PEP 8](https://peps.python.org/pep-0008/).\n",
    );
    reads(".. default-role:: math\n.. role:: py(code)\n\n`x y` :py:`f x`\n", "$x y$ `f x`\n");
}

#[test]
fn marks_without_an_end_are_text() {
    reads("*a **b `c ``d |e \\* __init__ foo_ \"*\" (*) :a:`b\n", "*a **b `c ``d |e * __init__ foo_ \"*\" (*) :a:`b\n");
}

#[test]
fn footnotes_are_referred_to_by_their_labels() {
    reads(
        "See [1]_, [#]_, [#n]_ and [CIT]_.\n\n.. [1] One.\n.. [#] Two.\n.. [#n] Three.\n.. [CIT] Four.\n",
        "See [^1], [^2], [^n] and [^CIT].\n\n[^1]: One.\n\n[^2]: Two.\n\n[^n]: Three.\n\n[^CIT]: Four.\n",
    );
}

#[test]
fn substitutions_are_put_in_and_comments_left_out() {
    let layer = counted("|v| |none|\n\n.. |v| replace:: *1.0*\n\n.. a comment\n   of two lines\n");
    assert_eq!(layer.text, "*1.0* |none|\n");
    let read = layer.structure.expect("a reader wrote it");
    assert!(
        read.dropped.iter().any(|dropped| dropped.reason == DropReason::Comment && dropped.chars == 20),
        "{:?}",
        read.dropped
    );
}

#[test]
fn lists_are_nested_by_their_indentation() {
    reads("- a\n\n  1. b\n     c\n  2. d\n\n- e\n", "- a\n\n  1. b\n     c\n  2. d\n\n- e\n");
    reads("#. x\n#. y\n", "1. x\n2. y\n");
    reads("A. Einstein was\na man.\n", "A. Einstein was\na man.\n");
    reads("term\n  Meaning.\n", "term\n\n: Meaning.\n");
    reads("x\n\n:param a: *b*\n  c\n", "x\n\n- **param a:** *b*\n  c\n");
    reads("-a, --all  All.\n-b FILE\n    Bee.\n", "`-a, --all`\n\n: All.\n\n`-b FILE`\n\n: Bee.\n");
    reads("| line\n|   deep\n|\n| new\n", "line\n  deep\n\nnew\n");
}

#[test]
fn literal_blocks_are_code() {
    reads("A::\n\n  b\n    c\n\nD ::\n\n> e\n", "A:\n\n```\nb\n  c\n```\n\nD\n\n```\n> e\n```\n");
    reads(".. highlight:: c\n\n::\n\n\tx\n\t  y\n", "```c\nx\n  y\n```\n");
    reads(".. code-block:: rust\n   :linenos:\n\n   fn a() {}\n", "```rust\nfn a() {}\n```\n");
    reads(">>> 1\n1\n", "```pycon\n>>> 1\n1\n```\n");
}

#[test]
fn cells_over_many_rows_or_columns_are_written_once() {
    let grid = "+---+---+\n| a | b |\n+===+===+\n| c | d |\n| e +---+\n|   | f |\n+---+---+\n| g     |\n+-------+\n";
    reads(grid, "| a | b |\n| --- | --- |\n| c e | d |\n| | f |\n| g | |\n");
    let simple = "=== === ===\n  ab     c\n------- ---\n a   b   c\n=== === ===\n1   2   3\n    4\n=== === ===\n";
    reads(simple, "| ab | | c |\n| --- | --- | --- |\n| a | b | c |\n| 1 | 2 4 | 3 |\n");
}

#[test]
fn tables_of_lists_and_values_have_rows() {
    reads(
        ".. list-table:: T\n\n   * - x\n     - y\n   * - 1\n     - *2*\n\n       3\n",
        "**T**\n\n| x | y |\n| --- | --- |\n| 1 | *2* 3 |\n",
    );
    reads(
        ".. csv-table::\n   :header: \"h 1\", h2\n\n   \"a \"\"q\"\"\", b\n   \"c\n   d\", e\n",
        "| h 1 | h2 |\n| --- | --- |\n| a \"q\" | b |\n| c d | e |\n",
    );
}

#[test]
fn a_table_that_is_not_closed_is_kept_as_it_is_drawn() {
    reads("+--+\n|ab\n+--+\n", "```\n+--+\n|ab\n+--+\n```\n");
}

#[test]
fn directives_are_read_for_what_they_show() {
    reads(".. note:: One\n   two.\n\n   Three.\n", "> **Note:** One\n> two.\n>\n> Three.\n");
    reads(".. versionadded:: 1.2\n   The x.\n", "**Added in version 1.2:** The x.\n");
    reads(".. figure:: f.png\n   :alt: Alt\n\n   Caption.\n", "![Alt](f.png)\n\nCaption.\n");
    reads(
        ".. toctree::\n   :caption: Pages\n\n   intro\n   The API <api/index>\n",
        "**Pages**\n\n- [intro](intro.rst)\n- [The API](api/index.rst)\n",
    );
    reads(".. include:: x.txt\n", "```rst\n.. include:: x.txt\n```\n");
    reads(".. raw:: html\n\n   <br>\n\n.. raw:: html\n\n   <p>Seen</p>\n", "```html\n<p>Seen</p>\n```\n");
    reads(".. raw:: html\n\n   <p\n   a>\n   Seen\n   </p>\n", "```html\n<p\na>\nSeen\n</p>\n```\n");
    let style = counted("x\n\n.. raw:: html\n\n   <style>\n   a {}\n   </style>\n");
    assert_eq!(style.text, "x\n", "a style shows no words");
    reads(".. foo:: arg\n   :opt: v\n\n   Body.\n", "arg\n\nBody.\n");
    reads(
        ".. py:class:: A(b)\n\n   Is.\n\n   .. py:method:: c()\n\n      Does.\n",
        "**`A(b)`**\n\n: Is.\n\n  **`c()`**\n\n  : Does.\n",
    );
}

#[test]
fn deep_nesting_is_read_without_deep_calls() {
    /// Returns lines that are each deeper than the one before.
    fn nested(line: &str, columns: usize, lines: usize) -> String {
        (0..lines).flat_map(|depth| [" ".repeat(columns * depth), line.to_owned(), "\n\n".to_owned()]).collect()
    }
    counted(&"- ".repeat(10_000));
    counted(&nested("x", 1, 500));
    counted(&nested(".. note::", 3, 300));
}

#[test]
fn long_lines_of_marks_are_counted() {
    for mark in ["*a ", "`a ", "|a ", ":a:`b ", "a_ ", "[a ", "``a ", "_`a ", ":a", "a_.", "\\", "`a`_ ", "+-", "= "] {
        counted(&mark.repeat(20_000));
    }
}

#[test]
fn damaged_files_are_read() {
    let mut state = 1_u32;
    let mut next = |most: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % most.max(1)
    };
    let marks = [
        "\n", " ", "   ", "*", "`", "_", "|", "..", "::", "+", "-", "=", "\t", "[", "]", "<", ">", "\\", "é", "\"",
        ":", "\r",
    ];
    for round in 0..3000 {
        let mut chars: Vec<char> = SAMPLES[round % SAMPLES.len()].chars().collect();
        for _ in 0..=next(6) {
            let at = next(chars.len());
            match next(4) {
                0 => drop(chars.remove(at)),
                1 => chars.insert(at, chars[at]),
                2 => drop(chars.splice(at..at, marks[next(marks.len())].chars())),
                _ => {
                    let end = (at + next(30)).min(chars.len());
                    let part: Vec<char> = chars[at..end].to_vec();
                    let to = next(chars.len());
                    drop(chars.splice(to..to, part));
                }
            }
        }
        counted(&chars.into_iter().collect::<String>());
    }
}

#[test]
fn soft_hyphens_and_spaces_without_width_are_left_out_and_counted() {
    reads("so\u{ad}ft\u{200b} hy\u{ad}phen\u{200d}s\n\n\u{200b}\n", "soft hyphen\u{200d}s\n");
}

#[test]
fn a_power_is_written_with_a_caret() {
    reads("10\\ :sup:`6` x\\ :superscript:`2n` the 1\\ :sup:`st` H\\ :sub:`2`\\ O\n", "10^6 x^2n the 1st H2O\n");
}

#[test]
fn a_substitution_of_an_image_has_its_name_as_its_text() {
    reads(
        "See |The map| and |b|.\n\n.. |the map| image:: m.png\n   :width: 3\n.. |b| image:: b.png\n   :alt: Bee\n",
        "See ![The map](m.png) and ![Bee](b.png).\n",
    );
}
