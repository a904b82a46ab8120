//! YAML, JSON and source code: which blocks and sections they have, and that no input loses text.

use std::fmt::Write as _;

use chunkmill::chunk::{Spec, chunk};
use chunkmill::document::{BlockKind, Document, Format, Language, is_blank};
use proptest::prelude::*;

const PATHS: [&str; 11] =
    ["a.yaml", "a.json", "a.rs", "a.py", "a.js", "a.ts", "a.go", "A.java", "a.c", "a.cpp", "a.jsonl"];

/// Returns sections and their top-level blocks, one per line: `§ path`, `+ entry`, `# comment`, `= code`, `~ text`.
fn outline(path: &str, text: &str) -> String {
    let document = Document::from_text(path, text);
    check(&document);
    let mut out = String::new();
    let mut at = 0;
    for (index, section) in document.sections.iter().enumerate() {
        writeln!(out, "§ {}", document.heading_path(index).join(" > ")).unwrap();
        while let Some(block) = document.blocks.get(at).filter(|block| block.range.start < section.range.end) {
            let mark = match block.kind {
                BlockKind::Entry => '+',
                BlockKind::Comment => '#',
                BlockKind::Code => '=',
                _ => '~',
            };
            writeln!(out, "{mark} {}", document.text[block.range.clone()].replace('\n', "|")).unwrap();
            at = block.next;
        }
    }
    for flag in &document.flags {
        writeln!(out, "! {flag}").unwrap();
    }
    out
}

/// Checks the properties that every document of these formats has.
fn check(document: &Document) {
    let (text, blocks) = (&document.text, &document.blocks);
    let mut covered = document.body.start;
    let mut at = 0;
    while at < blocks.len() {
        let range = blocks[at].range.clone();
        assert!(range.start >= covered && range.start < range.end, "blocks in order: {at} {blocks:?} of {text:?}");
        assert!(is_blank(&text[covered..range.start]), "lost {:?} of {text:?}", &text[covered..range.start]);
        covered = range.end;
        assert!(blocks[at].next > at && blocks[at].next <= blocks.len());
        at = blocks[at].next;
    }
    assert!(is_blank(&text[covered..document.body.end]), "lost the end {:?} of {text:?}", &text[covered..]);
    // Children are inside their parent, in order.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut start = 0;
    for (index, block) in blocks.iter().enumerate() {
        while open.last().is_some_and(|(next, _)| *next <= index) {
            open.pop();
        }
        if let Some((next, end)) = open.last() {
            assert!(block.next <= *next && block.range.end <= *end, "block {index} of {blocks:?} of {text:?}");
        }
        assert!(block.range.start >= start && block.range.end >= block.range.start);
        assert!(text.get(block.range.clone()).is_some(), "on character boundaries");
        start = block.range.start;
        open.push((block.next, block.range.end));
    }
    let mut end = document.body.start;
    for section in &document.sections {
        assert_eq!(section.range.start, end, "sections without a gap: {text:?}");
        end = section.range.end;
        let starts = section.range.start == document.body.start
            || blocks.iter().any(|block| block.range.start == section.range.start);
        assert!(blocks.len() > 2000 || starts, "a section starts at a block: {section:?} {blocks:?}");
    }
    assert!(document.sections.is_empty() || end == document.body.end);
}

#[test]
fn extensions_decide_the_format() {
    for (path, name) in [
        ("a.yml", "yaml"),
        ("a.YAML", "yaml"),
        ("x/a.jsonc", "json"),
        ("a.ndjson", "json"),
        ("a.pyi", "python"),
        ("a.mjs", "javascript"),
        ("a.tsx", "typescript"),
        ("a.h", "c"),
        ("a.hxx", "cpp"),
        ("a.rs", "rust"),
        ("a.java", "java"),
        ("a.go", "go"),
        ("a.md", "markdown"),
        ("yaml", "text"),
    ] {
        assert_eq!(Format::of_path(path).name(), name, "{path}");
    }
    assert_eq!(Format::of_path("a.cc"), Format::Code(Language::Cpp));
}

#[test]
fn yaml_keys_are_entries_and_sections() {
    let text = "# About the file.\n\n# first\na: 1 # one\n\n# second\nb:\n  - x\n  # - y\nc: |\n  k: v\n  # no comment\n\n'd e': {x: 1}\n# end\n";
    let expected = "§ \n# # About the file.|\n§ a\n+ # first|a: 1 # one\n§ b\n+ # second|b:|  - x|  # - y\n§ c\n+ c: ||  k: v|  # no comment\n§ d e\n+ 'd e': {x: 1}|# end\n";
    assert_eq!(outline("a.yaml", text), expected);
    // The same with a byte order mark and other line ends, apart from these line ends.
    let crlf = outline("a.yaml", &format!("\u{feff}{}", text.replace('\n', "\r\n")));
    assert_eq!(crlf.replace("\r|", "|").replace("|\n", "\n"), expected.replace("|\n", "\n"));
}

#[test]
fn yaml_of_every_shape() {
    for (text, expected) in [
        ("", ""),
        ("just words\n\nmore\n", "§ \n~ just words|\n~ more|\n"),
        ("# only\n", "§ \n~ # only|\n"),
        ("- a\n- b:\n    c\n-\n- d\n", "§ \n+ - a\n+ - b:|    c\n+ -\n+ - d\n"),
        ("%YAML 1.2\n---\na: 1\n...\n---\n# two\nb: 2\n", "§ a\n+ %YAML 1.2|---|a: 1|...\n§ b\n+ ---|# two|b: 2\n"),
        ("a: 1\n---\nprose\n", "§ a\n+ a: 1\n~ ---|prose\n"),
        ("{a: 1, b: [x,\n y]}\n", "§ a\n+ {a: 1,\n§ b\n+ b: [x,| y]}\n"),
        ("? [k, l]\n: v\n? m\n: w\n", "§ [k, l]\n+ ? [k, l]|: v\n§ m\n+ ? m|: w\n"),
        ("a: &x [*x, *y]\na: *x\n", "§ a\n+ a: &x [*x, *y]\n§ a\n+ a: *x\n"),
        ("k: \"é日本\"\nü: 1\n", "§ k\n+ k: \"é日本\"\n§ ü\n+ ü: 1\n"),
        ("a: 1\rb: 2\r", "§ a\n+ a: 1\n§ b\n+ b: 2\n"),
        ("\u{a0}\n# about\n\n---\na: 1\n---\n", "§ \n# # about|\n§ a\n+ ---|a: 1|---\n"),
        ("a: [1\n\nb: 2\n", "§ \n~ a: [1|\n~ b: 2|\n! malformed_yaml\n"),
        ("a:\n\tb: 1\n", "§ \n~ a:|\tb: 1|\n! malformed_yaml\n"),
    ] {
        assert_eq!(outline("a.yml", text), expected, "{text:?}");
    }
}

#[test]
fn json_of_every_shape() {
    for (text, expected) in [
        ("", ""),
        ("{}", "§ \n~ {}\n"),
        ("\"words\"", "§ \n~ \"words\"\n"),
        ("{\n  \"a\": 1,\n\n  \"b\": [2]\n}\n", "§ a\n+ {|  \"a\": 1,\n§ b\n+   \"b\": [2]|}\n"),
        (r#"{"a":{"x":"}"},"b\"c":2}"#, "§ a\n+ {\"a\":{\"x\":\"}\"},\n§ b\"c\n+ \"b\\\"c\":2}\n"),
        (
            "// about\n\n{\n  // a\n  \"a\": 1, // one\n  /* b */ \"b\": 2,\n}\n",
            "§ \n# // about|\n§ a\n+ {|  // a|  \"a\": 1, // one\n§ b\n+   /* b */ \"b\": 2,|}\n",
        ),
        ("{\"a\": 1\n,\"b\": 2}", "§ a\n+ {\"a\": 1\n§ b\n+ ,\"b\": 2}\n"),
        ("[\n  {\"a\": 1},\n  2\n]\n", "§ \n+ [|  {\"a\": 1},\n+   2|]\n"),
        ("{\"a\": 1}\n{\"a\": 2}\n3\n", "§ \n+ {\"a\": 1}\n+ {\"a\": 2}\n+ 3\n"),
        ("{\"a\": 1", "§ \n~ {\"a\": 1\n! malformed_json\n"),
        ("{\"a\" 1}", "§ \n~ {\"a\" 1}\n! malformed_json\n"),
        ("[1}", "§ \n~ [1}\n! malformed_json\n"),
        ("{\"a\": \"x\n\"}", "§ \n~ {\"a\": \"x|\"}\n! malformed_json\n"),
        ("{a: 1}", "§ \n~ {a: 1}\n! malformed_json\n"),
        ("{\"a\": 1, /* open", "§ \n~ {\"a\": 1, /* open\n! malformed_json\n"),
    ] {
        assert_eq!(outline("a.json", text), expected, "{text:?}");
    }
}

#[test]
fn a_large_entry_is_cut_between_what_it_holds() {
    let services: String = (0..40).map(|i| format!("  # number {i}\n  s{i}:\n    image: registry.example.org/team/name:{i}\n    ports: [80, 443]\n    note: some words about it\n")).collect();
    let yaml = format!("version: 3\nservices:\n{services}volumes: {{}}\n");
    let json = serde_json::json!({"version": 3, "services": (0..40).map(|i| serde_json::json!({"image": format!("registry.example.org/team/name:{i}"), "ports": [80, 443], "note": "some words about it"})).collect::<Vec<_>>()}).to_string();
    for (path, text, separator) in [("a.yaml", yaml, "\n"), ("a.json", json, "},")] {
        let document = Document::from_text(path, text);
        check(&document);
        let spec: Spec = "header unit=chars min=50 max=400 overlap=0".parse().unwrap();
        let chunks = chunk(&document, &spec, spec.sizer(None).unwrap()).unwrap();
        assert!(chunks.len() >= 10, "{path}");
        for chunk in &chunks {
            assert!(chunk.flags.is_empty() && chunk.range.len() <= 400, "{path}: {:?}", chunk.content(&document));
        }
        let cuts = chunks
            .windows(2)
            .filter(|pair| document.text[..pair[1].range.start].trim_end_matches(' ').ends_with(separator));
        assert!(cuts.count() + 3 > chunks.len() - 1, "{path}");
    }
}

#[test]
fn rust_items_and_documentation() {
    let text = "//! Module\n//! docs.\n\nuse a::{b, c};\n\n/// A point.\n#[derive(Debug)]\npub struct Point<T> {\n    /// Across.\n    x: T, // trailing\n    y: u8,\n}\n\nimpl<T: Copy> Point<T> {\n    /// Makes one.\n    /// Quick.\n    pub const fn new() -> Self {\n        let brace = \"}\";\n        let c = '{';\n        loop {}\n    }\n\n    fn raw<'a>(&'a self) -> &'a str { r#\"\"}\"# }\n}\n\n// ordinary\nimpl fmt::Display for Point<u8> where u8: Copy {\n    fn fmt(&self) {}\n}\n\nstatic_init! { a }\nmacro_rules! m { () => {} }\n";
    let expected = "§ \n# //! Module|//! docs.\n= use a::{b, c};\n\
§ Point\n# /// A point.\n= #[derive(Debug)]|pub struct Point<T> {\n#     /// Across.\n=     x: T, // trailing|    y: u8,|}\n\
§ Point\n= impl<T: Copy> Point<T> {\n\
§ Point > new\n#     /// Makes one.|    /// Quick.\n=     pub const fn new() -> Self {|        let brace = \"}\";|        let c = '{';|        loop {}|    }\n\
§ Point > raw\n=     fn raw<'a>(&'a self) -> &'a str { r#\"\"}\"# }|}\n\
§ fmt::Display for Point<u8>\n= // ordinary|impl fmt::Display for Point<u8> where u8: Copy {\n\
§ fmt::Display for Point<u8> > fmt\n=     fn fmt(&self) {}|}\n\
§ \n= static_init! { a }\n§ m\n= macro_rules! m { () => {} }\n";
    assert_eq!(outline("a.rs", text), expected);
}

#[test]
fn python_items_and_documentation() {
    let text = "#!/usr/bin/env python\n\"\"\"Module.\"\"\"\nimport os\n\n# about f\n@decorator(\n    x=1)\nasync def f(a,\n            b):\n    \"\"\"Of f.\"\"\"\n    if a:\n        def inner():\n            \"inner\"\n    return {\n1}\n\nclass A(B):\n    '''Of\n    A.'''\n    x = 1\n\n    def m(self): return \"\"\"\ndef fake():\n\"\"\"\n\n    @property\n    def n(self):\n        r\"\"\"Raw.\"\"\"\n\nif __name__ == \"__main__\":\n    main()\nclass C: pass\n";
    let expected = "§ \n= #!/usr/bin/env python\n# \"\"\"Module.\"\"\"\n= import os\n\
§ f\n= # about f|@decorator(|    x=1)|async def f(a,|            b):\n#     \"\"\"Of f.\"\"\"\n=     if a:|        def inner():|            \"inner\"|    return {|1}\n\
§ A\n= class A(B):\n#     '''Of|    A.'''\n=     x = 1\n\
§ A > m\n=     def m(self): return \"\"\"|def fake():|\"\"\"\n\
§ A > n\n=     @property|    def n(self):\n#         r\"\"\"Raw.\"\"\"\n\
§ \n= if __name__ == \"__main__\":|    main()\n§ C\n= class C: pass\n";
    assert_eq!(outline("a.py", text), expected);
}

#[test]
fn typescript_items_and_documentation() {
    let text = "import {a} from 'b'\n\n/** Doc. */\nexport default class Foo<T> extends Bar {\n  private x: Map<string, number> = new Map()\n  @Input() name: string;\n  /** ctor */\n  constructor(private a: string) { super() }\n  async *gen<T>(x: T): T { yield `}${`{`}` }\n  handler = async (e: Event) => {\n    return /}/.test(e)\n  }\n  get v(): number { return 1 }\n}\nexport const f = (a: number) => {\n  return a\n}\nconst g = 5\nfunction h() {}\ninterface I {\n  a: string;\n  b(x: number): void\n}\ntype X = { a: 1 }\nnamespace N.M {\n  export function q() {}\n}\nexport async function last(): Promise<void> {\n  const s = \"it's\"\n}\n";
    let expected = "§ \n= import {a} from 'b'\n\
§ Foo\n# /** Doc. */\n= export default class Foo<T> extends Bar {|  private x: Map<string, number> = new Map()|  @Input() name: string;\n\
§ Foo > constructor\n#   /** ctor */\n=   constructor(private a: string) { super() }\n\
§ Foo > gen\n=   async *gen<T>(x: T): T { yield `}${`{`}` }\n\
§ Foo > handler\n=   handler = async (e: Event) => {|    return /}/.test(e)|  }\n\
§ Foo > v\n=   get v(): number { return 1 }|}\n\
§ f\n= export const f = (a: number) => {|  return a|}\n§ \n= const g = 5\n§ h\n= function h() {}\n\
§ I\n= interface I {|  a: string;\n§ I > b\n=   b(x: number): void|}\n§ X\n= type X = { a: 1 }\n\
§ N.M\n= namespace N.M {\n§ N.M > q\n=   export function q() {}|}\n\
§ last\n= export async function last(): Promise<void> {|  const s = \"it's\"|}\n";
    assert_eq!(outline("a.ts", text), expected);
    assert_eq!(
        outline(
            "a.jsx",
            "/** Shows it. */\nexport function View({ a }) {\n  return <p>don't {a}</p>\n}\n\nView.x = 1\n"
        ),
        "§ View\n# /** Shows it. */\n= export function View({ a }) {|  return <p>don't {a}</p>|}\n§ \n= View.x = 1\n"
    );
}

#[test]
fn go_items_and_documentation() {
    let text = "// Copyright.\n\n// Package foo does.\npackage foo\n\nimport (\n\t\"fmt\"\n)\n\n// Max is.\nconst Max = 1\n\n// Server serves.\ntype Server struct {\n\t// Addr is.\n\tAddr string\n\tf    func(int) bool\n}\n\n// Handle it.\nfunc (s *Server[T]) Handle(x int) (err error) {\n\tr := '}'\n\t_ = `}`\n\treturn nil\n}\n\ntype R interface {\n\tRead(p []byte) (int, error)\n}\n\nfunc plain() {}\n";
    let expected = "§ \n= // Copyright.\n# // Package foo does.\n= package foo||import (|\t\"fmt\"|)\n\
§ Max\n# // Max is.\n= const Max = 1\n\
§ Server\n# // Server serves.\n= type Server struct {\n# \t// Addr is.\n= \tAddr string|\tf    func(int) bool|}\n\
§ Server.Handle\n# // Handle it.\n= func (s *Server[T]) Handle(x int) (err error) {|\tr := '}'|\t_ = `}`|\treturn nil|}\n\
§ R\n= type R interface {\n§ R > Read\n= \tRead(p []byte) (int, error)|}\n§ plain\n= func plain() {}\n";
    assert_eq!(outline("a.go", text), expected);
}

#[test]
fn java_items_and_documentation() {
    let text = "/** Licence. */\npackage x;\n\n/** Doc. */\n@Foo(value = \"}\")\npublic class A<T extends B> implements C {\n    private int x = 1;\n\n    /** ctor */\n    public A(int x) { this.x = x; }\n\n    @Override\n    public <R> Map<R, T> get(R r) throws X, Y { return null; }\n\n    static { init(); }\n    enum E {\n        ONE(1), TWO;\n        Map<K, V> m() { return null; }\n    }\n    record P(int a, int b) { }\n    abstract void g();\n}\n";
    let expected = "§ \n# /** Licence. */\n= package x;\n\
§ A\n# /** Doc. */\n= @Foo(value = \"}\")|public class A<T extends B> implements C {|    private int x = 1;\n\
§ A > A\n#     /** ctor */\n=     public A(int x) { this.x = x; }\n\
§ A > get\n=     @Override|    public <R> Map<R, T> get(R r) throws X, Y { return null; }\n\
§ A\n=     static { init(); }\n§ A > E\n=     enum E {|        ONE(1), TWO;\n\
§ A > E > m\n=         Map<K, V> m() { return null; }|    }\n§ A > P\n=     record P(int a, int b) { }\n§ A > g\n=     abstract void g();|}\n";
    assert_eq!(outline("A.java", text), expected);
}

#[test]
fn c_and_cpp_items_and_documentation() {
    let text = "/* licence */\n#include <x>\n#ifndef A_H\n\n/* Adds. */\nstatic inline int add(int a, int b)\n{\n    return a + b;\n}\n\n#ifdef X\nint one(void) { return '}'; }\n#endif\n\ntypedef struct {\n    int a; /* trailing */\n    /** Of b. */\n    int b;\n} Named;\ntypedef int (*cb)(int);\nMODULE(\"x\");\nint proto(int);\nstatic const int t[] = { 1, 2 };\nstruct S *make(void);\n#endif\n";
    let expected = "§ \n= /* licence */|#include <x>|#ifndef A_H\n\
§ add\n# /* Adds. */\n= static inline int add(int a, int b)|{|    return a + b;|}\n\
§ one\n= #ifdef X|int one(void) { return '}'; }|#endif\n\
§ Named\n= typedef struct {|    int a; /* trailing */\n#     /** Of b. */\n=     int b;|} Named;\n\
§ cb\n= typedef int (*cb)(int);\n§ \n= MODULE(\"x\");\n§ proto\n= int proto(int);\n§ \n= static const int t[] = { 1, 2 };\n§ make\n= struct S *make(void);|#endif\n";
    assert_eq!(outline("a.c", text), expected);
    let text = "namespace a::b {\n/// Doc.\ntemplate <typename T, int N = 3>\nclass Foo final : public Bar<T> {\npublic:\n  Foo(int a) : a_(a), b_{1} {}\n  ~Foo();\n  bool operator==(const Foo& o) const { return a_ == 1'000; }\n  int operator()(int x) const;\n  // about v\n  virtual void v() const noexcept override = 0;\n  int a_; ///< trailing\nprivate:\n  std::map<int, int> m;\n};\n}\nint Foo::bar(int x) { auto s = R\"x(})x\"; return 0; }\nenum class E : int { A, B };\nusing X = int;\n";
    let expected = "§ a::b\n= namespace a::b {\n\
§ a::b > Foo\n# /// Doc.\n= template <typename T, int N = 3>|class Foo final : public Bar<T> {\n\
§ a::b > Foo > Foo\n= public:|  Foo(int a) : a_(a), b_{1} {}\n§ a::b > Foo > ~Foo\n=   ~Foo();\n\
§ a::b > Foo > operator==\n=   bool operator==(const Foo& o) const { return a_ == 1'000; }\n\
§ a::b > Foo > operator()\n=   int operator()(int x) const;\n\
§ a::b > Foo > v\n#   // about v\n=   virtual void v() const noexcept override = 0;\n\
§ a::b > Foo\n=   int a_; ///< trailing|private:|  std::map<int, int> m;|};|}\n\
§ Foo::bar\n= int Foo::bar(int x) { auto s = R\"x(})x\"; return 0; }\n§ E\n= enum class E : int { A, B };\n§ X\n= using X = int;\n";
    assert_eq!(outline("a.cpp", text), expected);
}

#[test]
fn macros_hide_no_items() {
    assert_eq!(
        outline(
            "a.cc",
            "BEGIN_NAMESPACE\n\nnamespace {\nTEST(A, b) { x(); }\n}  // namespace\nEND_NAMESPACE(a)\n\nint f() { return 1; }\n"
        ),
        "§ \n= BEGIN_NAMESPACE\n§ namespace\n= namespace {\n§ namespace > TEST\n= TEST(A, b) { x(); }|}  // namespace\n§ \n= END_NAMESPACE(a)\n§ f\n= int f() { return 1; }\n"
    );
    assert_eq!(
        outline("a.rs", "cfg_io! {\n    /// Reads.\n    pub fn read() { m!{ a } }\n}\n\nfn b() {}\n"),
        "§ \n= cfg_io! {\n§ read\n#     /// Reads.\n=     pub fn read() { m!{ a } }|}\n§ b\n= fn b() {}\n"
    );
}

#[test]
fn a_function_of_c_ends_with_its_brace_whatever_its_type() {
    let text = "const char *a(void) {\n  x();\n}\nstatic const T *b(int c) { return 0; }\nint c(void) {}\nconst int d[] = { 1 };\n";
    let expected = "§ a\n= const char *a(void) {|  x();|}\n§ b\n= static const T *b(int c) { return 0; }\n\
§ c\n= int c(void) {}\n§ \n= const int d[] = { 1 };\n";
    assert_eq!(outline("a.c", text), expected);
    let text = "class A {\n  const T& get() const { return t; }\n  int size() { return 1; }\n  const T t = {1};\n};\n";
    let expected = "§ A\n= class A {\n§ A > get\n=   const T& get() const { return t; }\n\
§ A > size\n=   int size() { return 1; }\n§ A\n=   const T t = {1};|};\n";
    assert_eq!(outline("a.cpp", text), expected);
}

#[test]
fn a_brace_in_the_type_of_a_function_is_not_its_body() {
    for (path, functions) in [
        (
            "a.go",
            [
                "func (c *T) first() <-chan struct{} {\n\treturn nil\n}",
                "func (c *T) second() interface{} {\n\treturn nil\n}",
                "func (c *T) third() map[string]interface{} {\n\treturn nil\n}",
            ],
        ),
        (
            "a.ts",
            [
                "function first(a: X): { ok: boolean } {\n  return a\n}",
                "function second(): Promise<{ ok: boolean }> {\n  return a\n}",
                "const third = (a): X | { ok: boolean } => {\n  return a\n}",
            ],
        ),
        (
            "a.rs",
            [
                "fn first() -> Foo<{ N + 1 }> {\n    a\n}",
                "const fn second<F: Fn() -> u8>() -> u8 {\n    1\n}",
                "fn third(a: A<{ N }>) {}",
            ],
        ),
    ] {
        let class = if path == "a.go" { "T." } else { "" };
        let expected: String = ["first", "second", "third"]
            .iter()
            .zip(functions)
            .map(|(name, text)| format!("§ {class}{name}\n= {}\n", text.replace('\n', "|")))
            .collect();
        assert_eq!(outline(path, &functions.join("\n")), expected);
    }
    let text =
        "class A extends B<{ c: 1 }> {\n  x: { a: number } = y\n  load(): { a: number } {\n    return z\n  }\n}\n";
    let expected = "§ A\n= class A extends B<{ c: 1 }> {|  x: { a: number } = y\n\
§ A > load\n=   load(): { a: number } {|    return z|  }|}\n";
    assert_eq!(outline("a.ts", text), expected);
}

#[test]
fn branches_of_the_preprocessor_each_open_a_brace() {
    let text = "int a(int x) {\n#ifdef A\n  if (x) {\n#elif B\n  if (x && f(1) {\n#else\n  if (!x) {\n#endif\n    y();\n  }\n}\n\
#if A\nint b(int x)\n{\n#else\nint b(void)\n{\n#endif\n  return 1;\n}\n// A brace is lost.\nint c(void) {\n  if (x) {\n}\nint d(void) {}\n";
    let expected = "§ a\n= int a(int x) {|#ifdef A|  if (x) {|#elif B|  if (x && f(1) {|#else|  if (!x) {|#endif|    y();|  }|}\n\
§ b\n= #if A|int b(int x)|{\n§ b\n= #else|int b(void)|{|#endif|  return 1;|}\n\
§ c\n# // A brace is lost.\n= int c(void) {|  if (x) {|}\n§ d\n= int d(void) {}\n";
    assert_eq!(outline("a.c", text), expected);
    let text = "#ifdef A\nclass X : Y {\n#else\nclass X {\n#endif\n  int m();\n};\nint d(void) {}\n";
    let expected = "§ X\n= #ifdef A|class X : Y {\n§ X\n= #else|class X {\n§ X > m\n= #endif|  int m();|};\n§ d\n= int d(void) {}\n";
    assert_eq!(outline("a.cc", text), expected);
    // Code that is not indented at all is not a sign of lost brackets.
    let text = "int a(void) {\nif (x) {\ny();\n}\nreturn 1;\n}\nint d(void) {}\n";
    let expected = "§ a\n= int a(void) {|if (x) {|y();|}|return 1;|}\n§ d\n= int d(void) {}\n";
    assert_eq!(outline("a.c", text), expected);
}

#[test]
fn a_list_that_a_macro_ends_swallows_nothing() {
    let text = "ASN1_SEQUENCE(X) = {\n  ASN1_SIMPLE(X, a),\n} ASN1_SEQUENCE_END(X)\n\nIMPLEMENT(X)\n\n\
A(Y) = {\n  1\n} A_END(Y)\n\nB(Y) = C(\n  1)\nB_END(Y)\n\n/* Gets. */\nconst X *get(X *x) {\n  return x;\n}\nint t[] = {\n  1\n}\n, u;\n";
    let expected = "§ ASN1_SEQUENCE\n= ASN1_SEQUENCE(X) = {|  ASN1_SIMPLE(X, a),|} ASN1_SEQUENCE_END(X)\n\
§ \n= IMPLEMENT(X)\n§ A\n= A(Y) = {|  1|} A_END(Y)\n§ \n= B(Y) = C(|  1)|B_END(Y)\n\
§ get\n# /* Gets. */\n= const X *get(X *x) {|  return x;|}\n§ \n= int t[] = {|  1|}|, u;\n";
    assert_eq!(outline("a.c", text), expected);
}

#[test]
fn quotes_in_the_text_of_jsx_start_no_string() {
    for line in [
        "<p>Don't {a && (<b/>)}</p>",
        "<p>the users' {a && (",
        "<p>6\" {a && (",
        "<p>a\" b\\\" 'c' {f('{', \"{\", '\\'') && (",
    ] {
        let end = if line.ends_with('(') { "\n    <b/>)}</p>" } else { "" };
        let text = format!("function A() {{\n  return {line}{end}\n}}\nfunction B() {{}}\n");
        let expected =
            format!("§ A\n= function A() {{|  return {line}{}|}}\n§ B\n= function B() {{}}\n", end.replace('\n', "|"));
        assert_eq!(outline("a.tsx", &text), expected);
    }
    let text = "import{a}from'//a{';export default{};function f(){return'{'}function g(){switch(a){case'}':b()}}\nfunction h() {}\n";
    let expected = "§ \n= import{a}from'//a{';export default{};\n§ f\n= function f(){return'{'}\n\
§ g\n= function g(){switch(a){case'}':b()}}\n§ h\n= function h() {}\n";
    assert_eq!(outline("a.js", text), expected);
}

/// Returns the titles of the items of a source file.
fn items(path: &str, text: &str) -> Vec<String> {
    let document = Document::from_text(path, text);
    let own = document.sections.iter().filter(|section| section.level > 0 && !section.continues);
    own.map(|section| section.title.clone()).collect()
}

#[test]
fn code_that_no_compiler_reads_hides_nothing() {
    let (one, two) =
        ("int one(void) { return 1; }\n\n", "int two(void) { return 2; }\n\nint three(void) { return 3; }\n");
    for dead in [
        "#if 0\nvoid dead(void) {\n#endif\n",
        "#if 0 /* never */\nstruct dead {\n  int a; don't\n#endif\n",
        "# if (0)\n}}} ((( {\n# endif\n",
        "#if 0\n{\n#if X\n{\n#else\n{\n#endif\n{\n#endif\n",
        "#if 0\n{\n#elif 0\n{\n#else\nint x;\n#endif\n",
        "#if 1\nint x;\n#else\nvoid dead(void) {\n#endif\n",
        "#if 1\nint x;\n#elif Y\n{\n#else\n{\n#endif\n",
        "#ifdef A\nint x;\n#if 0\n{\n#endif\n#endif\n",
    ] {
        for path in ["a.c", "a.cpp"] {
            assert_eq!(items(path, &format!("{one}{dead}\n{two}")), ["one", "two", "three"], "{dead:?}");
        }
    }
    let live = "#if 1\nvoid live(void) {\n#else\n{{{\n#endif\n  x();\n}\n\n";
    assert_eq!(items("a.c", &format!("{one}{live}{two}")), ["one", "live", "two", "three"]);
    let other = "#if 0\nvoid dead(void) {\n#else\nvoid live(void) {\n#endif\n  x();\n}\n\n";
    assert_eq!(items("a.c", &format!("{one}{other}{two}")), ["one", "live", "two", "three"]);
    for branches in [
        "#ifdef A\nvoid f(int a) {\n#else\nvoid f(long a) {\n#endif\n  x();\n}\n\n",
        "void f(int a)\n{\n#ifdef A\n  if (a) {\n#else\n  if (!a) {\n#endif\n    x();\n  }\n}\n\n",
        "void f(int a) {\n#ifdef A\n  if (a) {\n#endif\n    x();\n#ifdef A\n  }\n#endif\n}\n\n",
    ] {
        let mut found = items("a.c", &format!("{one}{branches}{two}"));
        found.dedup();
        assert_eq!(found, ["one", "f", "two", "three"], "{branches:?}");
    }
}

#[test]
fn what_a_common_js_module_exports_is_an_item() {
    for (text, names) in [
        (
            "exports.one = function (x) {\n  return 1;\n};\n\nmodule.exports.two = (x) => {\n  return 2;\n};\n",
            &["one", "two"][..],
        ),
        ("exports.one = async x => x\nexports.two = class {\n  a() {}\n}\nexports.three = 3\n", &["one", "two"][..]),
        ("module.exports = function () {\n};\n", &["module.exports"][..]),
        ("module.exports = function named(a) {\n};\nfunction b() {}\n", &["named", "b"][..]),
        ("module.exports = async (a) => {\n};\n", &["module.exports"][..]),
        (
            "module.exports = {\n  one(x) { return 1 },\n  two: function (x) { return { a: 1 } },\n  three: (x) => x,\n  four,\n  'five': async () => {\n  },\n  six: 6\n};\n\nfunction seven() {}\n",
            &["module.exports", "one", "two", "three", "five", "seven"][..],
        ),
        ("module.exports = require('x');\nexports.a = b;\nexported.c = function () {};\n", &[][..]),
    ] {
        assert_eq!(items("a.js", text), names, "{text}");
        assert_eq!(items("a.cjs", text), names, "{text}");
    }
}

#[test]
fn types_in_a_group_of_go_are_items() {
    let text = "package a\n\ntype (\n\t// A is a.\n\tA struct {\n\t\tX int\n\t}\n\n\tB interface {\n\t\tRead(p []byte) (n int, err error)\n\t}\n\tC = int\n\tD[T any] struct{ x T }\n\tE func(a int) error\n\tF map[string]int\n)\n\ntype G struct{}\n\nfunc h() {}\n";
    assert_eq!(items("a.go", text), ["A", "B", "Read", "C", "D", "E", "F", "G", "h"]);
    let document = Document::from_text("a.go", text);
    let levels: Vec<_> =
        document.sections.iter().filter(|s| !s.continues).map(|s| (s.level, s.title.as_str())).collect();
    assert!(levels.contains(&(1, "A")) && levels.contains(&(2, "Read")) && levels.contains(&(1, "h")), "{levels:?}");
}

#[test]
fn titles_keep_groups_and_raw_names() {
    for (text, title) in [
        ("impl<A> Trait for (A, B) {}", "Trait for (A, B)"),
        ("impl Trait for [u8; 3] where u8: A {}", "Trait for [u8; 3]"),
        ("impl Trait for &'_ [T] {}", "Trait for &'_ [T]"),
        ("fn r#type() {}", "r#type"),
        ("struct r#fn { a: u8 }", "r#fn"),
        ("fn r() { r#\"}\"# }", "r"),
    ] {
        assert_eq!(outline("a.rs", text), format!("§ {title}\n= {text}\n"));
    }
}

#[test]
fn a_comment_behind_a_directive_may_take_many_lines() {
    let text = "#define A 1 /* Don't {\n  * (see */\n#define B \"a\" // of b/*\n#define C \"/*\"\nint a(void) {}\n";
    let expected =
        "§ \n= #define A 1 /* Don't {|  * (see */|#define B \"a\" // of b/*|#define C \"/*\"\n§ a\n= int a(void) {}\n";
    assert_eq!(outline("a.c", text), expected);
}

#[test]
fn a_long_function_can_be_cut_at_its_blank_lines() {
    let body: String = (0..50).map(|i| format!("    let a{i} = {i};\n    use_it(a{i});\n\n")).collect();
    let document = Document::from_text("a.rs", format!("fn long() {{\n{body}}}\n"));
    check(&document);
    assert_eq!(document.blocks[0].next, document.blocks.len());
    assert_eq!(document.blocks.len(), 52);
    assert_eq!(document.sections.len(), 1);
}

#[test]
fn hostile_input_costs_linear_time_and_bounded_stack() {
    let many = |unit: &str| unit.repeat(200_000 / unit.len());
    let units = [
        "[",
        "{",
        "(",
        "{\"a\":",
        "[[],",
        "- ",
        "? ",
        "a: ",
        "&a ",
        "\"",
        "'",
        "`",
        "`${",
        "/*",
        "/[",
        "//",
        "#",
        "# c\n",
        "#if\n",
        "\\",
        "\\\n",
        "\n",
        "\r",
        "\r\n",
        "\0",
        ")*",
        "(}",
        "a<",
        "a<\n",
        "<a>",
        "fn a() {\n",
        "fn a(",
        "class A {\n",
        "class A:\n ",
        "def f():\n\t",
        "impl A {",
        "namespace a {",
        "@a\n",
        "@a(",
        "#[a]\n",
        "/// a\n",
        "/** a */\n",
        "/** a */",
        "///\n\n",
        "key: v\n",
        "k: [a, b]\n",
        "\"k\": 1,\n",
        "{\"a\": 1}\n",
        "1,",
        "1 ",
        "---\n",
        "\u{3000}",
        "é",
        "template<",
        "operator",
        "r#\"",
        "R\"(",
        "x = ",
        "a,b;",
        "struct S {",
        "} ",
        "}; ",
        "a(b){}",
        "'\\",
        "async ",
        "type A struct {\n",
        "const a = {\n",
        "\"\"\"",
        "enum E {a,",
        "public:",
        "a::",
        "~",
        "//! a\n",
        "if {",
        "a = (b) => {\n",
        "{\n#if\n",
        "#if\n{\n#else\n",
        "{\n#if\n  {\n#else\n#endif\n",
        "a = {} b()\n",
        " {\n}\n",
        "\\\"",
        "\"\\\"'",
        "a'",
        "#/*\n",
        "#/*",
        "r#",
    ];
    for path in PATHS {
        for unit in units {
            check(&Document::from_text(path, many(unit)));
        }
        check(&Document::from_text(path, format!("{}{}", "[".repeat(200_000), "]".repeat(200_000))));
        check(&Document::from_text(path, format!("{}{}", "(".repeat(200_000), "}".repeat(200_000))));
        check(&Document::from_text(path, format!("{{{}}}", "\"key\": [1, \"}\"],".repeat(50_000))));
        check(&Document::from_text(path, format!("[{}]", "1,".repeat(200_000))));
    }
}

#[test]
fn deep_nesting_is_read_or_refused() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(Document::from_text("a.json", deep.clone()).flags.is_empty());
    assert_eq!(Document::from_text("a.yaml", deep).flags, ["malformed_yaml"]);
}

#[test]
fn a_hundred_thousand_keys_are_as_many_sections() {
    let yaml: String = (0..100_000).map(|i| format!("key{i}: {i}\n")).collect();
    let json = format!("{{{}}}", (0..100_000).map(|i| format!("\"k{i}\":{i}")).collect::<Vec<_>>().join(","));
    for (path, text) in [("a.yaml", yaml), ("a.json", json)] {
        let document = Document::from_text(path, text);
        check(&document);
        assert_eq!((document.sections.len(), document.flags.len()), (100_000, 0), "{path}");
    }
}

#[test]
fn every_strategy_chunks_every_format_without_loss() {
    for spec in ["header unit=chars min=20 max=60 overlap=5", "heading unit=chars max=40 overlap=10"] {
        let spec: Spec = spec.parse().unwrap();
        for (path, text) in PATHS.iter().flat_map(|path| VALID.map(|text| (path, text))) {
            let document = Document::from_text(path, text);
            let mut covered = document.body.start;
            for chunk in chunk(&document, &spec, spec.sizer(None).unwrap()).unwrap() {
                assert!(chunk.range.start >= covered && is_blank(&text[covered..chunk.range.start]), "{path} {text:?}");
                let size = chunk.content(&document).chars().count();
                assert!(size <= spec.max() || chunk.flags.iter().any(|flag| flag.starts_with("oversized_")));
                covered = chunk.range.end;
            }
            assert!(is_blank(&text[covered..]), "{path} {text:?}");
        }
    }
}

/// Valid sources, which the test breaks.
const VALID: [&str; 11] = [
    "# c\n\n---\na: &x 1\nb:\n  - {k: [1, 'two']}\n  # c\n  - |\n    t\n...\n---\n? q\n: !t \"é\"\n",
    "// c\n{\"a\": [1, {\"b\": \"\\\"}\"}], /* c */\n \"日本\": null,}\n{\"x\": 1}\n",
    "//! m\n/// d\n#[a]\npub fn f<'a>() -> &'a str { r#\"}\"# }\nimpl A for B<C> { /** d */ const X: u8 = b'}'; }\nenum E { /// v\n A, B }\n",
    "'''m'''\n@d(1)\nclass A(B):\n    \"\"\"é\"\"\"\n    x = {1:\n2}\n    async def f(self): # c\n        r'doc'\n\n        return f\"{x}\"\n",
    "/** d */\nexport class A { #x = 1; get y() { return /[/}]/ } }\nconst f = async (a) => `${`}`}`\n@D() class B { static { } }\n",
    "// p\npackage p\n// T is\ntype T[K any] struct { a int }\nfunc (t *T) M() { _ = `}` }\nvar x = '}'\n",
    "/** l */\n@A(\"}\")\nclass A { enum E { X(1) { void f() {} }; E() {} } String s = \"\"\"\n}\"\"\"; }\n",
    "#define A(x) \\\n {\n/// d\ntemplate <class T> struct S : B<T> { S() : a{1} {} operator int(); };\nnamespace n { enum { A, B }; } // é\n",
    "typedef struct s { int a; } *s_t;\nint f(a, b) char *a; { return '\\''; }\n#if X\nint g() {\n#else\nint h() {\n#endif\n}\nA = {}\nB\n",
    "const A = () => <p a={{b: \"c\"}}>don't {x && (<b>6\" 'é'</b>)}</p>\nfunction f(): A<{ a: 1 }> | { b: 2 } { }\n",
    "\u{feff}a: 1\r\n# é\r\nb:\r\n- 👩‍👩‍👧\r\n-\r\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_format_loses_text(text in "(\\PC|[\\n\\r\\t\\x00\u{feff}\u{3000}]|[-:?#&*!|>{}\\[\\](),\"'`/\\\\@;=<~]|[a-c ]){0,80}", path in 0..PATHS.len()) {
        check(&Document::from_text(PATHS[path], text));
    }

    #[test]
    fn broken_sources_lose_no_text(
        source in 0..VALID.len(),
        path in 0..PATHS.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), "[-:#{}\\[\\]()\"'`/*\n\r\t ,;=<>@é]{0,3}", 0..4usize), 0..6),
    ) {
        let mut chars: Vec<char> = VALID[source].chars().collect();
        for (at, new, drop) in edits {
            let at = at.index(chars.len() + 1);
            chars.splice(at..(at + drop).min(chars.len()), new.chars());
        }
        check(&Document::from_text(PATHS[path], chars.into_iter().collect::<String>()));
    }
}
