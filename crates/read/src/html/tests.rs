//! HTML from the file to the layer: its blocks, its places, and the count of what is left out.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use chunkmill_text::document::{Document, ReadFlag, Structure, visible_chars};
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, ExpandedName, QualName, ns, parse_document};

use super::tree::Kind;
use super::*;
use crate::check::{check, kept_and_dropped, layer, layer_of};

/// Counts the characters that html5ever's own tokenizer and tree builder put into the tree.
#[derive(Default)]
struct Count {
    chars: Cell<u64>,
    nodes: Cell<usize>,
}

type Counted = (usize, Rc<QualName>);

impl Count {
    fn node(&self, name: QualName) -> Counted {
        self.nodes.set(self.nodes.get() + 1);
        (self.nodes.get(), Rc::new(name))
    }

    fn text(&self, child: NodeOrText<Counted>) {
        if let NodeOrText::AppendText(text) = child {
            self.chars.set(self.chars.get() + visible_chars(&text));
        }
    }

    fn nothing(&self) -> Counted {
        self.node(QualName::new(None, ns!(), "".into()))
    }
}

impl TreeSink for Count {
    type Handle = Counted;
    type Output = u64;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> u64 {
        self.chars.get()
    }
    fn parse_error(&self, _: Cow<'static, str>) {}
    fn get_document(&self) -> Counted {
        (0, Rc::new(QualName::new(None, ns!(), "".into())))
    }
    fn elem_name<'a>(&'a self, target: &'a Counted) -> ExpandedName<'a> {
        target.1.expanded()
    }
    fn create_element(&self, name: QualName, _: Vec<Attribute>, _: ElementFlags) -> Counted {
        self.node(name)
    }
    fn create_comment(&self, _: StrTendril) -> Counted {
        self.nothing()
    }
    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Counted {
        self.nothing()
    }
    fn append(&self, _: &Counted, child: NodeOrText<Counted>) {
        self.text(child);
    }
    fn append_based_on_parent_node(&self, _: &Counted, _: &Counted, child: NodeOrText<Counted>) {
        self.text(child);
    }
    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}
    fn get_template_contents(&self, target: &Counted) -> Counted {
        target.clone()
    }
    fn same_node(&self, one: &Counted, other: &Counted) -> bool {
        one.0 == other.0
    }
    fn set_quirks_mode(&self, _: QuirksMode) {}
    fn append_before_sibling(&self, _: &Counted, child: NodeOrText<Counted>) {
        self.text(child);
    }
    fn add_attrs_if_missing(&self, _: &Counted, _: Vec<Attribute>) {}
    fn remove_from_parent(&self, _: &Counted) {}
    fn reparent_children(&self, _: &Counted, _: &Counted) {}
}

/// Returns the characters of the texts of a page, and those of its alternative texts.
fn texts(source: &str) -> (u64, u64) {
    let page = tokens::page(source, false).expect("it is not too large");
    let (mut all, mut alts) = (0, 0);
    page.nodes.visit(0, |node| {
        match page.nodes.kind(node) {
            Kind::Text { number, .. } => page.pieces(*number, |text| all += visible_chars(text)),
            Kind::Element(element) => {
                for number in ["alt", "alttext"].into_iter().filter_map(|name| element.text(name)) {
                    page.pieces(number, |text| alts += visible_chars(text));
                }
            }
            _ => {}
        }
        true
    });
    (all, alts)
}

/// Checks that all text of a page is in the layer or counted.
fn promise(source: &str, layer: &Layer) {
    let (all, alts) = texts(source);
    let (kept, dropped) = kept_and_dropped(layer);
    let comments = dropped_for(layer, DropReason::Comment);
    assert_eq!(kept + dropped - comments, all + alts, "{source:?}\n{}\n{:?}", layer.text, about(layer).dropped);
}

fn about(layer: &Layer) -> &Structure {
    layer.structure.as_deref().expect("a reader wrote it")
}

fn dropped_for(layer: &Layer, reason: DropReason) -> u64 {
    about(layer).dropped.iter().filter(|dropped| dropped.reason == reason).map(|dropped| dropped.chars).sum()
}

/// Reads a page as it is: with many NULs, it would not be taken for text.
fn read_text(source: &str, html: HtmlPart) -> Layer {
    let settings = ReadSettings { html, ..ReadSettings::default() };
    let layer = Layer::from(source.to_owned());
    let mut writer = LayerWriter::new("html", settings.most(layer.bytes));
    read(&layer, &mut writer, &settings).expect("it can be read");
    let layer = writer.finish(&layer).expect("it has not grown");
    check(&layer, Some(source));
    promise(source, &layer);
    layer
}

fn text(source: &str) -> String {
    read_text(source, HtmlPart::Main).text
}

fn whole(source: &str) -> String {
    read_text(source, HtmlPart::Whole).text
}

const SPHINX: &str = r##"<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><title>API &#8212; x 1.0</title>
<meta name="description" content="All &amp; more"><meta name="keywords" content="a, b"><script>var x = "<p>";</script></head><body>
<div class="related" role="navigation"><h3>Navigation</h3><ul><li><a href="genindex.html">index</a></li></ul></div>
<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main">
<section id="api"><span id="core"></span><h1>API<a class="headerlink" href="#api" title="Permalink">¶</a></h1>
<p>See <a class="reference internal" href="#x"><code class="xref py"><span class="pre">x.y()</span></code></a>.</p>
<dl class="py function"><dt class="sig sig-object py" id="x.y"><em class="property">async </em><span class="sig-name">y</span><span>(</span><em>a</em>, <em>b=1</em><span>)</span><a class="headerlink" href="#x.y">¶</a></dt>
<dd><p>Does it.</p><div class="highlight-python notranslate"><div class="highlight"><pre><span></span><span class="gp">&gt;&gt;&gt; </span>y(1)
2
</pre></div></div></dd></dl></section></div></div></div>
<div class="sphinxsidebar"><h3>Contents</h3></div></div><div class="footer">© Me</div></body></html>"##;

const MDBOOK: &str = r##"<!DOCTYPE HTML><html lang="en"><head><title>Intro - Book</title></head><body><nav id="sidebar"><ol><li><a href="a.html">A</a></li></ol></nav>
<div id="menu-bar"><h1 class="menu-title">Book</h1></div><div id="content" class="content"><main>
<h1 id="intro"><a class="header" href="#intro">Intro</a></h1><p>Hello <em>world</em><br>
next</p><pre><pre class="playground"><code class="language-rust">fn main() {
    let a = &quot;b&quot;;
}</code></pre></pre></main><nav class="nav-wrapper">Next</nav></div></body></html>"##;

const DOXYGEN: &str = r#"<html xmlns="http://www.w3.org/1999/xhtml"><body><div id="top"><div id="titlearea">Project</div></div><div class="header"><div class="headertitle"><div class="title">Foo Class Reference</div></div></div>
<div class="contents"><p>The class foo does very much of what a class of its kind does.</p><h2 class="groupheader"><a name="m"></a>Members</h2><a id="a1"></a>
<div class="memitem"><div class="memproto"><table class="memname"><tr><td class="memname">int foo </td><td>(</td><td class="paramtype">int&#160;</td><td class="paramname"><em>a</em></td><td>)</td></tr></table></div></div>
<div class="fragment"><div class="line"><a name="l1"></a><span class="lineno">    1</span>&#160;<span class="keyword">int</span> a;</div><div class="line">  int b;</div></div></div></body></html>"#;

const MANY: &str = r#"<article><h2>T</h2><ul><li>a<li><p>b</p><ol start=3><li>c</li><li value=7>d<li>e</ol></ul>
<ul><li><input type=checkbox checked> done<li><input type=checkbox> open</ul><dl><dt>t<dd>d</dl><blockquote><p>q</p></blockquote>
<table><caption>Cap</caption><tr><th>a<th colspan=2>b<tr><td rowspan=2>1<td>2<td>3 <ul><li>x<li>y</ul><tr><td>4<td>5</table>
<details><summary>Sum</summary>Hidden <b>bold <i>both</b> it</i> end</details><figure><img src=a.png alt="An &amp; image"><figcaption>Fig</figcaption></figure>
<p>x<sub>2</sub> &lt;tag&gt; &notit; &nbsp;&copy &#x1F600; <kbd>Ctrl</kbd> a<code> b</code>c <a href=x.html> link </a>, <a name=here>no link</a><hr>
<math><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></semantics></math><script type="math/tex; mode=display">y</script>
<p hidden>no</p><p style="display: none">no</p><!-- comment --><template><p>no</p></template><noscript><p>no</p></noscript><select><option>no</select></article>"#;

const WRONG: &[&str] = &[
    "<p><table><p>in</p>loose<tr><td>cell<b>bold</table>after",
    "<b>1<p>2</b>3</p><a href=1>x<a href=2>y<div>z</a>w",
    "a&ampb &am &#65 &#xZ; &#0; &#x80; &bogus; &notin; & <x &",
    "\r\n<pre>\r\n\r\na\rb\r\n&#10;\u{1f600}&amp;</pre>\r\nx\r",
    "<svg><title>t</title><text>s &lt; <![CDATA[<c> ]] ]>]]></text></svg><![CDATA[no]]> m",
    "<ul><table><li>a</table></ul><h1><h2>x</h1><select><p>y</select><option>z",
    "<frameset><frame>text</frameset>",
    "<é>a</é><ü b=\u{e4}>\u{0}x\u{0}<svg>\u{0}y</svg><title>&lt;a</tit</title>",
    "<template><tr><td>x</template><math><mi>a<p>b</mi></math><plaintext></p>x",
    "<!DOCTYPE html><!-- a --!><!><? x ><//a></>b<a b='&amp;c&copy;' alt=\"&lt",
    "<table><tr><td>a<table><tr><td>b</table><td>c</table><button>x<button>y",
    "<p>a<br><br>b<img alt='x\n y &eacute;' src=a><img alt=''><pre><br>a<p>b</pre>",
];

#[test]
fn a_sphinx_page_is_its_body() {
    let layer = layer("a.html", SPHINX);
    promise(SPHINX, &layer);
    assert_eq!(
        layer.text,
        "# API\n\nSee [`x.y()`](#x).\n\nasync y(a, b=1)\n\n: Does it.\n\n  ```python\n  >>> y(1)\n  2\n  ```\n"
    );
    let about = about(&layer);
    assert_eq!((about.title.as_deref(), &about.tags[..]), (Some("API — x 1.0"), &["a".to_owned(), "b".to_owned()][..]));
    assert_eq!((&about.metadata["lang"], &about.metadata["description"]), (&"en".into(), &"All & more".into()));
    assert!(dropped_for(&layer, DropReason::Navigation) > 20 && dropped_for(&layer, DropReason::Script) > 5);
    let document = Document::parse("a.html".into(), layer);
    assert_eq!(document.sections[0].anchor, "core");
}

#[test]
fn an_mdbook_page_is_its_main_element() {
    assert_eq!(text(MDBOOK), "# Intro\n\nHello *world*\nnext\n\n```rust\nfn main() {\n    let a = \"b\";\n}\n```\n");
    assert!(whole(MDBOOK).contains("Book"));
}

#[test]
fn a_doxygen_page_has_its_title_and_code() {
    let text = text(DOXYGEN);
    assert!(text.starts_with("Foo Class Reference\n\nThe class foo"), "{text}");
    assert!(text.contains("## Members\n\nint foo ( int a )\n\n```\n int a;\n  int b;\n```\n"), "{text}");
}

#[test]
fn all_kinds_of_blocks_are_written() {
    assert_eq!(
        text(MANY),
        "## T\n\n- a\n- b\n  3. c\n  7. d\n  8. e\n\n- [x] done\n- [ ] open\n\nt\n\n: d\n\n> q\n\nCap\n\n\
         | a | b | |\n| --- | --- | --- |\n| 1 | 2 | 3 x y |\n| | 4 | 5 |\n\nSum\n\nHidden **bold *both*** *it* end\n\n\
         ![An & image](a.png)\n\nFig\n\nx2 <tag> ¬it; © 😀 `Ctrl` a `b`c [link](x.html) , no link\n\n---\n\n$x^2$\n\n$$\ny\n$$\n"
    );
}

#[test]
fn mistakes_are_read_as_browsers_read_them() {
    assert_eq!(text(WRONG[0]), "in\n\nloose\n\ncell**bold**\n\nafter\n");
    assert_eq!(text(WRONG[1]), "**1**\n\n**2**3\n\n[x](1)[y](2)\n\n[z](2)w\n");
    assert_eq!(text(WRONG[2]), "a&b &am A &#xZ; \u{fffd} € &bogus; ∉ &\n");
    assert_eq!(text(WRONG[3]), "```\na\nb\n\n😀&\n```\n\nx\n");
}

#[test]
fn texts_are_those_of_the_tree_that_html5ever_makes() {
    for source in WRONG.iter().chain(&[SPHINX, MDBOOK, DOXYGEN, MANY]) {
        let theirs = parse_document(Count::default(), html5ever::ParseOpts::default()).one(*source);
        // It shows a sign for NUL in drawings.
        let nuls = u64::from(source.contains("<svg>\0"));
        assert_eq!(texts(source).0, theirs - nuls, "{source:?}");
        text(source);
        whole(source);
    }
}

#[test]
fn any_change_of_a_page_is_read() {
    let mut seed = 7_u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).expect("it has 31 bits") % below.max(1)
    };
    let samples: Vec<&str> = WRONG.iter().copied().chain([SPHINX, MDBOOK, DOXYGEN, MANY]).collect();
    for _ in 0..3000 {
        let mut bytes = samples[random(samples.len())].as_bytes().to_vec();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(4) {
                0 => drop(bytes.drain(at..(at + 1 + random(9)).min(bytes.len()))),
                1 => {
                    let end = (at + random(40)).min(bytes.len());
                    bytes.extend_from_within(at..end);
                }
                2 => bytes.insert(at, b"<>&;/\"'= \0\r-![]a"[random(16)]),
                _ => {
                    let other = samples[random(samples.len())].as_bytes();
                    let from = random(other.len());
                    let part = &other[from..(from + random(60)).min(other.len())];
                    bytes.splice(at..at, part.iter().copied());
                }
            }
        }
        let source = String::from_utf8_lossy(&bytes).into_owned();
        text(&source);
    }
}

/// Repeats a text with the numbers from 0.
fn numbered(part: &str, times: usize) -> String {
    (0..times).map(|n| part.replace('#', &n.to_string())).collect()
}

#[test]
fn pages_that_are_made_to_be_slow_are_not() {
    let many = |part: &str, times: usize| part.repeat(times);
    let pages = [
        format!("<a href={}>{}", many("x", 50_000), many("<p>text", 12_500)),
        format!("<p {}>text", numbered("a# ", 200_000)),
        many("<div>", 100_000),
        format!("{}text{}after", many("<div>", 10_000), many("</div>", 10_000)),
        many("<b>", 100_000),
        many("<table><tr><td>", 20_000),
        many("<ul><li>x", 20_000),
        many("<blockquote>x", 20_000),
        many("<a><b><div></a>", 10_000),
        numbered("<font color=#>", 20_000),
        many("</p></b></x>", 50_000),
        many("<a><p></a><b><p></b>", 10_000),
        many("<a><table><td></a>", 10_000),
        many("<p><b><i>x</p></b>", 10_000),
        many("<svg><desc><p>", 20_000),
        many("<template>", 20_000),
        many("<table><b>x", 20_000),
        many("<td rowspan=9999 colspan=999>x<tr>", 5_000),
        format!("<table>{}", many("<tr><td rowspan=9999 colspan=999>x<tr>", 5_000)),
        many("<section><footer><aside><a href=x>", 10_000),
        many("<main>x", 20_000),
        many("<b id=x>x </b>", 50_000),
        many("<a href=x id=x>x </a><code>x </code><br>", 20_000),
        many("<img alt=x><i><b>x </i></b>", 20_000),
        numbered("<p>a<a role=doc-noteref href=#n#>1</a><p id=n#>x", 10_000).replace("href=", "href=#"),
        format!("{}<p id=x class=footnote>note", many("a<sup><a href='#x'>1</a></sup>", 20_000)),
        many("x<sup>2", 20_000),
        many("x<sup>2</sup><a href=y>z</a>", 20_000),
        many("<div class='admonition note'><p class=admonition-title>T</p>", 10_000),
        many("<div class='admonition note'>x</div>", 20_000),
        format!("<table><tr><td>{}<td>x", many("a|", 100_000)),
        many("<q><del>x</del>", 20_000),
        many("&", 100_000),
        many("<!--", 100_000),
    ];
    for page in pages {
        let one = Instant::now();
        let read = crate::read("a.html", page.clone().into_bytes(), &ReadSettings::default());
        if let Ok(layer) = read {
            check(&layer, Some(&page));
        }
        assert!(one.elapsed().as_secs() < 30, "{:?} {}", one.elapsed(), &page[..page.len().min(30)]);
    }
}

#[test]
fn a_tree_that_grows_is_refused() {
    let page = "<p>".to_owned() + &numbered("<b id=#>", 200) + &"</p><p>x".repeat(50_000);
    let read = crate::read("a.html", page.into_bytes(), &ReadSettings::default());
    assert!(matches!(read, Err(chunkmill_text::document::Refusal { reason: Skip::Malformed { .. }, .. })));
}

#[test]
fn other_encodings_are_read_if_they_are_declared() {
    let layer = layer_of("a.html", b"<meta charset=iso-8859-2><p>\xb1\xe6 x</p>");
    assert_eq!((&*layer.text, &about(&layer).metadata["encoding"]), ("ąć x\n", &"ISO-8859-2".into()));
    assert_eq!(layer.map.place(&layer.text, &(2..4)), 29..30);
    let layer = layer_of("a.html", b"<p>\x93x\x94");
    assert_eq!((&*layer.text, &about(&layer).flags[..]), ("“x”\n", &[ReadFlag::GuessedEncoding][..]));
    let layer = layer_of("a.html", b"\xff\xfe<\0p\0>\0x\0");
    assert_eq!((&*layer.text, layer.map.place(&layer.text, &(0..1))), ("x\n", 8..10));
    let refused = |bytes: &[u8]| {
        crate::read("a.html", bytes.to_vec(), &ReadSettings::default()).expect_err("it is refused").reason
    };
    assert!(matches!(refused(b"<meta charset=gbk>\xff\xff\xff"), Skip::Declared { .. }));
    assert!(matches!(refused(b"<?xml version='1.0' encoding='utf-8'?>\xc4"), Skip::Encoding { .. }));
    assert!(matches!(refused(b"\x89PNG\r\n\x1a\n\xff\xff\0\0\0"), Skip::NotText { .. } | Skip::Binary { .. }));
}

#[test]
fn empty_elements_of_xhtml_are_empty() {
    let source = "<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title/><script src=\"a\"/></head><body><a id=\"x\"/><p>a<b/>c</p><![CDATA[<d>]]></body></html>";
    assert_eq!(text(source), "ac\n\n<d>\n");
}

#[test]
fn text_without_content_elements_is_read_without_menus() {
    let page = "<header><a href=/>Home</a></header><ul><li><a href=1>One</a><li><a href=2>Two</a><li><a href=3>Three</a></ul><h1>Title</h1><p>Long text of the page, longer than its menu.</p><footer>Me</footer>";
    assert_eq!(text(page), "# Title\n\nLong text of the page, longer than its menu.\n");
    assert!(whole(page).contains("[One](1)"));
    let list = "<ul><li><a href=1>One</a><li><a href=2>Two</a><li><a href=3>Three</a></ul>";
    assert_eq!(text(list), "- [One](1)\n- [Two](2)\n- [Three](3)\n");
}

#[test]
fn a_list_of_links_below_a_paragraph_is_text() {
    let page = |href: &str| {
        let items: String = ["One", "Two", "Three"].map(|name| format!("<li><a href={href}{name}>{name}</a>")).concat();
        format!(
            "<p>Long text of the page, longer than its list. It ends with names:</p><ul>{items}</ul><p>The end.</p>"
        )
    };
    assert!(text(&page("x/")).contains("names:\n\n- [One](x/One)\n"));
    // A table of contents is not.
    assert!(!text(&page("#")).contains("One"));
    // Hidden words of a link are no text around it.
    let link = "<p><a href=y>See<span hidden> much that nobody sees, and more of it than is seen</span></a></p>";
    let list: String = page("x/").split("names:</p>").skip(1).collect();
    let hidden =
        text(&format!("{link}{list}<p>Long text of the page, longer than its list, so that it is not all.</p>"));
    assert!(!hidden.contains("One") && hidden.contains("See"), "{hidden}");
}

#[test]
fn javadoc_has_tables_of_divisions() {
    let page = "<main><div class=summary-table><div class='table-header col-first'>Name</div><div class='table-header col-last'>What</div>\
        <div class=col-first><code>a()</code></div><div class=col-last><div class=block>Does <b>a</b>.</div></div></div></main>";
    assert_eq!(text(page), "| Name | What |\n| --- | --- |\n| `a()` | Does **a**. |\n");
}

#[test]
fn a_long_link_is_written_once_and_a_short_one_in_each_block() {
    assert_eq!(text("<a href=x><p>a</p><p>b</p></a>"), "[a](x)\n\n[b](x)\n");
    let long = "x".repeat(300);
    assert_eq!(text(&format!("<a href={long}><p>a</p><p>b</p></a>")), format!("[a]({}…)\n\nb\n", &long[..200]));
}

#[test]
fn code_has_no_line_numbers() {
    let page = "<main><table class=highlighttable><tr><td class=linenos><pre>1\n2</pre></td><td class=code><div class='highlight-c'><pre>a;\n  b;</pre></div></td></tr></table></main>";
    assert_eq!(text(page), "```c\na;\n  b;\n```\n");
}

#[test]
fn a_power_is_written_with_a_caret() {
    assert_eq!(text("<p>10<sup>6</sup> m<sup>-1</sup> 2<sup>n + 1</sup> H<sub>2</sub>O"), "10^6 m^-1 2^(n + 1) H2O\n");
    assert_eq!(
        text("<p>the 1<sup>st</sup>, M<sup>me</sup> X<sup>TM</sup>, <i>x</i><sup><i>n</i></sup>"),
        "the 1st, Mme XTM, *x*^*n*\n"
    );
    assert_eq!(
        text("<h2>A<sup>2</sup></h2><code>x<sup>2</sup></code><pre>y<sup>3</sup>;</pre>"),
        "## A^2\n\n`x^2`\n\n```\ny^3;\n```\n"
    );
    assert_eq!(text("<p>a<sup> <p>2</sup>b"), "a\n\n2b\n");
}

#[test]
fn soft_hyphens_and_spaces_without_width_are_left_out_and_counted() {
    let page = "<h1>Ti&shy;tle</h1><p>soft&shy;hyphen a\u{ad}b&#8203;c &zwj;</p><p>&#8203;</p><pre>x\u{200b}y</pre><table><tr><td>&shy;<td>1<tr><td>a<td>b</table>";
    assert_eq!(text(page), "# Title\n\nsofthyphen abc \u{200d}\n\n```\nxy\n```\n\n| | 1 |\n| --- | --- |\n| a | b |\n");
}

#[test]
fn a_long_target_is_written_without_its_query() {
    let page = format!("<p>x <a href='https://play.org/?code={}&amp;y=1'>Run</a>", "%23".repeat(100));
    let layer = layer("a.html", &page);
    assert_eq!(layer.text, "x [Run](https://play.org/…)\n");
    assert!(Document::parse("a.html".into(), layer).links[0].target.ends_with("%23&y=1"));
    assert_eq!(
        text("<a href='a b'>x</a> <a href='f(1'>y</a> <a href='f(1)'>z</a>"),
        "[x](<a b>) [y](<f(1>) [z](f(1))\n"
    );
}

#[test]
fn a_bar_in_a_cell_does_not_end_it() {
    let page = "<table><tr><td>1<td>2|3<tr><td><code>a|b</code><td>c</table>";
    assert_eq!(text(page), "| 1 | 2\\|3 |\n| --- | --- |\n| `a\\|b` | c |\n");
}

#[test]
fn notes_are_footnotes_whichever_program_wrote_them() {
    let notes = "Word[^1] more.\n\n[^1]: Note **one**.\n";
    for (reference, list) in [
        // Pandoc.
        (
            r##"<a href="#fn1" class="footnote-ref" id="fnref1" role="doc-noteref"><sup>1</sup></a>"##,
            r##"<section id="footnotes" class="footnotes footnotes-end-of-document" role="doc-endnotes"><hr /><ol><li id="fn1"><p>Note <b>one</b>.<a href="#fnref1" class="footnote-back" role="doc-backlink">↩︎</a></p></li></ol></section>"##,
        ),
        // Hugo, kramdown.
        (
            r##"<sup id="fnref:1"><a href="#fn:1" class="footnote" rel="footnote">1</a></sup>"##,
            r##"<div class="footnotes"><ol><li id="fn:1"><p>Note <b>one</b>.&#160;<a href="#fnref:1">&#8617;</a></p></li></ol></div>"##,
        ),
        // Sphinx.
        (
            r##"<a class="footnote-reference brackets" href="#id2" id="id1" role="doc-noteref"><span class="fn-bracket">[</span>1<span class="fn-bracket">]</span></a>"##,
            r##"<aside class="footnote-list brackets"><aside class="footnote brackets" id="id2" role="doc-footnote"><span class="label"><span class="fn-bracket">[</span><a role="doc-backlink" href="#id1">1</a><span class="fn-bracket">]</span></span><p>Note <b>one</b>.</p></aside></aside>"##,
        ),
        // Sphinx, and docutils, of old.
        (
            r##"<a class="footnote-reference brackets" href="#id2" id="id1">1</a>"##,
            r##"<dl class="footnote brackets"><dt class="label" id="id2"><span class="brackets"><a class="fn-backref" href="#id1">1</a></span></dt><dd><p>Note <b>one</b>.</p></dd></dl>"##,
        ),
        (
            r##"<a class="footnote-reference" href="#id2" id="id1">[1]</a>"##,
            r##"<table class="docutils footnote" id="id2"><tr><td class="label"><a class="fn-backref" href="#id1">[1]</a></td><td>Note <b>one</b>.</td></tr></table>"##,
        ),
        // MediaWiki.
        (
            r##"<sup id="cite_ref-1" class="reference"><a href="#cite_note-1">[1]</a></sup>"##,
            r##"<ol class="references"><li id="cite_note-1"><span class="mw-cite-backlink"><b><a href="#cite_ref-1">^</a></b></span> <span class="reference-text">Note <b>one</b>.</span></li></ol>"##,
        ),
        // A book.
        (
            r##"<a epub:type="noteref" href="#n1" id="r1">1</a>"##,
            r##"<aside epub:type="footnote" id="n1"><p><a href="#r1">1.</a> Note <b>one</b>.</p></aside>"##,
        ),
    ] {
        let page = format!("<main><p>Word{reference} more.</p>{list}</main>");
        assert_eq!(text(&page), notes, "{page}");
        let document = Document::parse("a.html".into(), layer("a.html", &page));
        assert_eq!((document.footnotes.len(), &*document.footnotes[0].label), (1, "1"));
    }
}

#[test]
fn labels_of_notes_are_unique_and_all_items_of_their_list_are_notes() {
    let page = r##"<p>a<a role="doc-noteref" href="#x-1">*</a> b<a role="doc-noteref" href="#y-1">1</a> c<a role="doc-noteref" href="#x-1">*</a> <a href="#none" class="footnote-ref">2</a> <a href="#x-1">plain</a>
        <ol class="footnotes"><li id="x-1">One.<li id="y-1">Two.<li>Three.</ol>"##;
    assert_eq!(text(page), "a[^1] b[^y-1] c[^1] [2](#none) [^1]\n\n[^1]: One.\n\n[^y-1]: Two.\n\n[^3]: Three.\n");
    let menu = r##"<p>See <a href="#a">a</a> and <a href="#b">b</a>.<ul><li id=a>A <a href="#b">b</a><li id=b>B</ul>"##;
    assert_eq!(text(menu), "See [a](#a) and [b](#b).\n\n- A [b](#b)\n- B\n");
}

#[test]
fn a_note_or_a_warning_is_a_quotation_that_begins_with_its_title() {
    for (page, written) in [
        (
            r#"<div class="admonition note"><p class="admonition-title">Note</p><p>Be <b>careful</b>.</p><p>More.</p></div>"#,
            "> **Note:** Be **careful**.\n>\n> More.\n",
        ),
        (
            r#"<div class="warning"><div class="title"><p>Warning</p></div><p>Careful.</p></div>"#,
            "> **Warning:** Careful.\n",
        ),
        (
            r#"<details class="tip" open><summary>Try <code>x</code></summary><p>It works.</p></details>"#,
            "> **Try `x`:** It works.\n",
        ),
        (
            r#"<div class="theme-admonition theme-admonition-info alert"><div class="admonitionHeading_a"><span><svg><title>i</title></svg></span>What now?</div><div class="admonitionContent_b"><p>This.</p></div></div>"#,
            "> **What now?** This.\n",
        ),
        (
            r#"<div class="admonitionblock caution"><table><tr><td class="icon"><div class="title">Caution</div></td><td class="content"><div class="paragraph"><p>Hot.</p></div></td></tr></table></div>"#,
            "> **Caution:** Hot.\n",
        ),
        (
            r#"<div class="admonitionblock tip"><table><tr><td class="icon"><img src="a.png" alt="Tip"></td><td class="content">Cold.</td></tr></table></div>"#,
            "> **Tip:** Cold.\n",
        ),
        (
            r#"<div class="markdown-alert markdown-alert-note"><p class="markdown-alert-title"><svg></svg>Note</p><ul><li>a</li></ul></div>"#,
            "> **Note:**\n>\n> - a\n",
        ),
        (r#"<div class="admonition"><p class="admonition-title">Only</p></div><p>x</p>"#, "> **Only:**\n\nx\n"),
        (
            r#"<div class="note"><p>No title.</p></div><details><summary>Sum</summary>x</details>"#,
            "No title.\n\nSum\n\nx\n",
        ),
    ] {
        assert_eq!(text(page), written, "{page}");
    }
}

#[test]
fn a_table_is_not_part_of_the_title_before_it() {
    let page = r#"<div class="admonition note"><p class="admonition-title">Note</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></div>"#;
    assert_eq!(text(page), "> **Note:**\n>\n> | a | b |\n> | --- | --- |\n> | 1 | 2 |\n");
}

#[test]
fn deleted_text_is_marked_and_quotations_have_their_marks() {
    assert_eq!(
        text("<p><del>gone</del> <ins>new</ins> <s>a <b>b</b></s> <q>one <q>two</q></q> <strike> </strike>"),
        "~~gone~~ new ~~a **b**~~ “one ‘two’”\n"
    );
}

#[test]
fn encodings_with_characters_of_several_bytes_are_read() {
    for (declared, name, bytes, expected) in [
        ("<meta charset=euc-kr>", "EUC-KR", &b"\xc7\xd1\xb1\xdb"[..], "한글"),
        (
            "<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'>",
            "Shift_JIS",
            b"\x93\xfa\x96\x7b",
            "日本",
        ),
        ("<?xml version='1.0' encoding='EUC-JP'?>", "EUC-JP", b"\xc6\xfc\xcb\xdc", "日本"),
        ("<meta charset=gb2312>", "GBK", b"\xc4\xe3\xba\xc3", "你好"),
        ("<meta charset=gb18030>", "gb18030", b"\xc4\xe3\x81\x30\x84\x36", "你¥"),
        ("<meta charset=big5>", "Big5", b"\xa7\x41\xa6\x6e", "你好"),
        ("<meta charset=iso-2022-jp>", "ISO-2022-JP", b"\x1b$BF|K\\\x1b(B", "日本"),
    ] {
        let page = [declared.as_bytes(), b"<p>x ", bytes, b" y</p>"].concat();
        let layer = layer_of("a.html", &page);
        assert_eq!((&*layer.text, &about(&layer).metadata["encoding"]), (&*format!("x {expected} y\n"), &name.into()));
        // In the others, not all characters have two bytes.
        let document = Document::parse("a.html".into(), layer);
        let start = declared.len() as u64 + 5;
        let places = !matches!(name, "gb18030" | "ISO-2022-JP");
        assert_eq!(document.source_range(&(2..8)), places.then_some(start..start + 4), "{name}");
        assert_eq!(document.cited_place(&(2..8)).is_some(), places);
    }
}
