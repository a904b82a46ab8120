//! Seed 2 and source code: what happens to documentation, small items, and items that do not fit.

use std::ops::Range;

use chunkmill::chunk::{Kind, Spec, chunk};
use chunkmill::document::{Document, is_blank};
use proptest::prelude::*;

use crate::common::{Cut, cut_as};
use crate::promises::check;

/// Returns code of about this many characters, on indented lines.
fn body(indent: &str, chars: usize, end: &str) -> String {
    (0..chars.div_ceil(20)).map(|i| format!("{indent}value_{i:03} = {i:03}{end}\n")).collect()
}

/// Returns the first and last line of each chunk.
fn ends(cut: &Cut) -> Vec<(String, String)> {
    let line = |line: Option<&str>| line.unwrap_or_default().trim().to_owned();
    cut.contents().iter().map(|content| (line(content.lines().next()), line(content.lines().last()))).collect()
}

#[test]
fn a_small_file_is_one_chunk() {
    for (path, text) in [
        (
            "a.py",
            "import os\n\n\ndef a():\n    \"\"\"Says it.\"\"\"\n    return 1\n\n\nclass B:\n    x = 1\n\n    def c(self):\n        pass\n",
        ),
        ("a.rs", "//! Here.\n\nuse x;\n\n/// Says it.\nfn a() {}\n\nimpl B {\n    /// One.\n    const C: u8 = 1;\n}\n"),
        ("a.ts", "import x from 'x'\n\nclass K {\n  /** doc */\n  a() {}\n  /** doc */\n  b() {}\n}\n\nconst c = 1\n"),
    ] {
        let cut = cut_as(path, "sections", text);
        assert_eq!(cut.contents(), [text.trim_end()], "{path}");
        assert_eq!(cut.chunks[0].kind, Kind::Code, "{path}");
    }
}

#[test]
fn documentation_of_the_minimum_is_apart_and_takes_the_line_that_it_is_about() {
    let long = "It says very much about what it does. ".repeat(8);
    let code = body("    ", 400, "");
    let cut = cut_as("a.py", "sections", &format!("def a(x):\n    \"\"\"{long}\"\"\"\n{code}"));
    assert_eq!(
        ends(&cut),
        [("def a(x):".into(), format!("\"\"\"{long}\"\"\"")), ("value_000 = 000".into(), "value_019 = 019".into())]
    );
    let code = body("    ", 400, ";");
    let cut = cut_as("a.rs", "sections", &format!("/// {long}\nfn a() {{\n{code}}}\n"));
    assert_eq!(
        ends(&cut),
        [(format!("/// {}", long.trim_end()), format!("/// {}", long.trim_end())), ("fn a() {".into(), "}".into())]
    );
    assert_eq!([cut.chunks[0].kind, cut.chunks[1].kind], [Kind::Text, Kind::Code]);
    // If one of the two is too small, they stay together.
    for (doc, code) in [("Short.", 400), (long.as_str(), 40)] {
        let cut = cut_as("a.rs", "sections", &format!("/// {doc}\nfn a() {{\n{}}}\n", body("    ", code, ";")));
        assert_eq!(cut.chunks.len(), 1);
    }
}

#[test]
fn fields_with_short_documentation_are_not_torn_apart() {
    let fields: String =
        (0..40).map(|i| format!("    /// The field with the number {i}.\n    field_{i}: u32,\n")).collect();
    let cut = cut_as("a.rs", "sections", &format!("/// A record.\npub struct Record {{\n{fields}}}\n"));
    assert_eq!(cut.chunks.len(), 1, "{:?}", ends(&cut));
}

#[test]
fn small_members_merge_inside_their_class_and_the_head_goes_with_the_first() {
    let method = |name: &str, chars| format!("    def {name}(self):\n{}\n", body("        ", chars, ""));
    let class = |name: &str, members: &str| format!("class {name}:\n{members}\n");
    let members = [method("one", 40), method("two", 80), method("big", 2950), method("last", 20)].concat();
    let text = format!("{}{}def small():\n    pass\n", class("First", &members), class("Second", &method("three", 40)));
    let cut = cut_as("a.py", "sections", &text);
    let starts: Vec<String> = ends(&cut).into_iter().map(|(first, _)| first).collect();
    // `last` does not fit with `big`, and it is not merged with what comes after its class.
    assert_eq!(starts, ["class First:", "def big(self):", "def last(self):", "class Second:"]);
    assert_eq!(cut.paths(), ["First", "First > big", "First > last", "Second"]);
    let headings = |at: usize| -> Vec<&str> {
        cut.document.headings_in(&cut.chunks[at].range).map(|section| section.title.as_str()).collect()
    };
    assert_eq!(headings(0), ["First", "one", "two"]);
    assert_eq!(headings(3), ["Second", "three", "small"]);
}

#[test]
fn what_stands_before_an_item_that_does_not_fit_goes_with_its_start() {
    let methods: String = (0..4).map(|i| format!("    def m{i}(self):\n{}\n", body("        ", 1200, ""))).collect();
    let text = format!("import os\n\n\nclass Large:\n{methods}\nif __name__ == \"__main__\":\n    main()\n");
    let cut = cut_as("a.py", "sections", &text);
    assert_eq!(cut.paths(), ["", "Large > m1", "Large > m2", "Large > m3", ""]);
    assert!(cut.contents()[0].starts_with("import os\n\n\nclass Large:\n    def m0"));
    assert!(cut.contents()[4].starts_with("if __name__"), "it is not part of the class");
}

#[test]
fn documentation_on_the_line_of_what_it_is_in_is_taken_apart() {
    for (text, expected) in [
        (
            "class K { /** doc */ a() {} /** more */ b() {} }",
            &["class K {", "/** doc */", "a() {}", "/** more */", "b() {} }"][..],
        ),
        ("class K { /** doc */\n  a() {}\n}", &["class K {", "/** doc */", "  a() {}\n}"]),
        (
            "class K { // about K\n  a = 1 /** of a */\n  b = 2; /** of c */ c = 3\n}",
            &["class K { // about K\n  a = 1 /** of a */\n  b = 2;", " /** of c */", "c = 3\n}"],
        ),
        (
            "/** a */ function a() {} /** b */ function b() {}",
            &["/** a */", "function a() {}", "/** b */", "function b() {}"],
        ),
    ] {
        assert_eq!(cut_as("a.ts", "sections min=1", text).contents(), expected, "{text}");
    }
    let text = "enum E { /// One.\n    A,\n    B, // two\n}";
    assert_eq!(
        cut_as("a.rs", "sections min=1", text).contents(),
        ["enum E {", " /// One.", "    A,\n    B, // two\n}"]
    );
}

/// A piece of a generated source.
#[derive(Debug, Clone)]
enum Node {
    /// Lines of code that are not an item.
    Plain(usize),
    /// A function with this many lines of documentation and of code.
    Function(usize, usize),
    /// A class or module with documentation and members.
    Class(usize, Vec<Node>),
}

#[derive(Debug, Clone, Copy)]
enum Written {
    Python,
    Rust,
    TypeScript,
}

/// A source and the ranges of its items, outer items before those inside.
#[derive(Debug)]
struct Generated {
    language: Written,
    text: String,
    items: Vec<Range<usize>>,
}

impl Generated {
    fn new(language: Written, nodes: &[Node]) -> Self {
        let mut source = Self { language, text: String::new(), items: Vec::new() };
        source.write(nodes, 0);
        source
    }

    fn line(&mut self, depth: usize, text: &str) {
        self.text.push_str(&"    ".repeat(depth));
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn documentation(&mut self, depth: usize, lines: usize) {
        for at in 0..lines {
            let (first, last) = (at == 0, at + 1 == lines);
            let (before, after) = match self.language {
                Written::Python => (if first { "\"\"\"" } else { "" }, if last { "\"\"\"" } else { "" }),
                Written::Rust => ("/// ", ""),
                Written::TypeScript => (if first { "/** " } else { " * " }, if last { " */" } else { "" }),
            };
            self.line(depth, &format!("{before}Line {at} says something.{after}"));
        }
    }

    fn write(&mut self, nodes: &[Node], depth: usize) {
        for node in nodes {
            let number = self.text.len();
            let start = self.text.len();
            let place = self.items.len();
            let (doc, head, closing) = match node {
                Node::Plain(lines) => {
                    for at in 0..*lines {
                        match self.language {
                            Written::Python => self.line(depth, &format!("x{number}_{at} = {at}")),
                            Written::Rust => self.line(depth, &format!("use a::b{number}_{at};")),
                            Written::TypeScript => self.line(depth, &format!("x{number}_{at} += {at};")),
                        }
                    }
                    self.line(0, "");
                    continue;
                }
                Node::Function(doc, _) => match self.language {
                    Written::Python => (doc, format!("def f{number}():"), ""),
                    Written::Rust => (doc, format!("fn f{number}() {{"), "}"),
                    Written::TypeScript => (doc, format!("function f{number}() {{"), "}"),
                },
                Node::Class(doc, _) => match self.language {
                    Written::Python => (doc, format!("class C{number}:"), ""),
                    Written::Rust => (doc, format!("mod c{number} {{"), "}"),
                    Written::TypeScript => (doc, format!("namespace C{number} {{"), "}"),
                },
            };
            self.items.push(start..start);
            let inside = matches!(self.language, Written::Python);
            if !inside {
                self.documentation(depth, *doc);
            }
            self.line(depth, &head);
            if inside {
                self.documentation(depth + 1, *doc);
            }
            match node {
                Node::Class(_, members) => self.write(members, depth + 1),
                Node::Function(_, lines) => {
                    (0..*lines).for_each(|at| self.line(depth + 1, &format!("let y{at} = {at};")))
                }
                Node::Plain(_) => {}
            }
            if inside {
                self.line(depth + 1, "pass");
            }
            if !closing.is_empty() {
                self.line(depth, closing);
            }
            self.items[place].end = self.text.trim_end().len();
            self.line(0, "");
        }
    }

    /// Returns whether a chunk may contain this range. It must not leave an item that it starts inside of (a bracket
    /// that closes an enclosing item does not count). If it ends inside an item that it starts before, only
    /// enclosing items may start before that item.
    fn holds(&self, range: &Range<usize>) -> bool {
        let starts_inside = |item: &&Range<usize>| item.start < range.start && range.start < item.end;
        let after = |item: &Range<usize>| self.text.get(item.end..range.end).unwrap_or_default();
        let leaves = self.items.iter().filter(starts_inside).any(|item| after(item).contains(char::is_alphanumeric));
        let begun = |item: &&Range<usize>| range.start <= item.start && item.start < range.end;
        let mut cut = self.items.iter().filter(begun).filter(|item| range.end < item.end);
        let before = |cut: &Range<usize>| {
            let mut before = self.items.iter().filter(begun).take_while(|item| item.start < cut.start);
            before.all(|item| item.end >= cut.end)
        };
        !leaves && cut.all(before)
    }
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let lines = || prop_oneof![3 => 0..4usize, 2 => 4..14usize, 1 => 14..60usize];
    let leaf = prop_oneof![
        1 => (1..6usize).prop_map(Node::Plain),
        3 => (lines(), lines()).prop_map(|(doc, code)| Node::Function(doc, code)),
    ];
    let node = leaf.prop_recursive(3, 24, 6, move |inner| {
        (lines(), prop::collection::vec(inner, 0..6)).prop_map(|(doc, members)| Node::Class(doc, members))
    });
    prop::collection::vec(node, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(600), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_sources_are_cut_between_items_and_nothing_small_is_left_that_could_go_with_another(
        nodes in nodes(),
        language in prop::sample::select(vec![Written::Python, Written::Rust, Written::TypeScript]),
        (min, max) in prop_oneof![Just((200, 3000)), Just((200, 600)), Just((60, 250))],
    ) {
        let source = Generated::new(language, &nodes);
        let path = match language {
            Written::Python => "a.py",
            Written::Rust => "a.rs",
            Written::TypeScript => "a.ts",
        };
        let spec: Spec = format!("section unit=chars min={min} target={} max={max} overlap=0", max / 2).parse().unwrap();
        let document = Document::from_text(path, source.text.clone());
        let chunks = chunk(&document, &spec, spec.sizer(None).unwrap()).unwrap();
        check(&document, &spec, &chunks, true);
        for chunk in &chunks {
            prop_assert!(source.holds(&chunk.range), "holds parts of two: {:?}", chunk.content(&document));
        }
        for pair in chunks.windows(2) {
            let [before, after] = pair else { unreachable!() };
            let size = |range: &Range<usize>| document.text[range.clone()].chars().count();
            let both = before.range.start..after.range.end;
            let small = size(&before.range) < min || size(&after.range) < min;
            let split = before.sub_index.is_some() || after.sub_index.is_some();
            prop_assert!(
                split || !small || size(&both) > max || !source.holds(&both),
                "small and could go together: {:?}",
                &document.text[both]
            );
        }
        prop_assert_eq!(is_blank(&document.text), chunks.is_empty());
    }
}
