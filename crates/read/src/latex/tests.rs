//! LaTeX from the file to the layer: its blocks, its places, and the count of what is left out.

use chunkmill_text::document::{Document, DropReason, Layer};

use crate::check;

#[track_caller]
fn counted(text: &str) -> Layer {
    check::counted("a.tex", text)
}

#[track_caller]
fn reads(text: &str, expected: &str) {
    assert_eq!(counted(text).text, expected);
}

const SAMPLES: [&str; 8] = [
    "% a paper\n\\documentclass[11pt]{article}\n\\usepackage{x}\n\\newcommand{\\foo}[1]{bar #1}\n\\title{On \\emph{Things}\\thanks{Us.}}\n\\author{Ann \\and Bob}\n\\date{May 2024}\n\\begin{document}\n\\maketitle\n\\begin{abstract}\nWe do.\n\nMore.\n\\end{abstract}\n\\section{Intro} \\label{sec:in}\n\\label{two}\nText% here\nis ``quoted'' --- see~\\ref{sec:in}, \\cite[p.~1]{a,b}.\\footnote{A \\textbf{note}.} Line\\\\\nnext.\n\n\\subsection*{Deep}\nEnd.\n\\end{document}\nrest\n",
    "\\chapter{One}\n\\section[short]{Two}\n\\paragraph{Run} in.\n\n\\begin{itemize}\n\\item a\n\\item[x] b\n\\begin{enumerate}\\item c\\item d\\end{enumerate}\n\\end{itemize}\n\\begin{description}\n\\item[Term] Means.\n\n\\item[\\texttt{Other}] Is.\n\n  More.\n\\end{description}\n\\begin{quote}\nQ\n\\end{quote}\n",
    "\\begin{verbatim}\n \\x{ % y\n\\end{verbatim}\n\\begin{lstlisting}[language=C, caption=X]\nint a;\n\\end{lstlisting}\n\\begin{minted}[linenos]{python}\nx = 1\n\\end{minted}\nUse \\verb|a b| or \\verb*+c+, \\lstinline{d}, \\texttt{e\\_f \\emph{g}}.\n\\begin{tikzpicture}\\node {x};\\end{tikzpicture}\n\\begin{comment}\nno\n\\end{comment}\n\\iffalse \\ifx no \\fi no\\fi yes\n",
    "A $x_1 \\$ y$ and \\(z\\). \\[ a + b \\] $$c$$ cost \\$5.\n\\begin{align}\n a &= b \\\\ \\label{eq:a}\n c &= d\n\\end{align}\n\\begin{displaymath}e\\end{displaymath} $ open\n\nnext \\( \\[\n",
    "\\begin{table}[htbp]\n\\centering\n\\caption{A \\emph{table}.}\\label{tab:a}\n\\begin{tabular}{|l|r|}\n\\hline\na & b \\\\ \\hline\n\\multicolumn{2}{c}{wide} \\\\[2pt]\n\\begin{tabular}{c}n\\\\m\\end{tabular} & \\textbf{c}\\footnote{In a cell.} \\\\\n\\end{tabular}\n\\end{table}\n\\begin{figure}\n\\includegraphics[width=3cm]{a.png}\n\\caption{Fig.}\n\\end{figure}\n\\begin{unknown}[Opt]{arg}\nInside & out.\n\\end{unknown}\n\\begin{tabularx}{\\textwidth}{lX}x & y\\end{tabularx}\n",
    "\\'e \\'{e} \\\"o \\c{c} \\v s \\ss{} \\ae\\ \\o{} \\^\\i \\~{} \\=x \\ldots\\ \\& \\% \\_ \\{ \\} \\# \\LaTeX{} `a' a--b {\\bf bold} {\\em it} {\\tt c_d} \\textbf{one\n\ntwo} \\href{http://x.y/\\%a}{a \\textit{link}} \\url{http://z.w/_v} \\foo{a}{b} \\bar[x] \\baz* \\input{other} \\def\\q#1{x} \\let\\a=\\b \\vspace{1cm}\\textcolor{red}{red} \\hyperref[tab:a]{tab} \\(\n",
    "\u{feff}a\r\n\r\n} \\end{x} \\item b \\begin{itemize} text \\item {c \\item d} \\end{itemize} \\begin{tabular}{c} {a & b} \\\\ \\section{x} \\item e \\footnote{f \\begin{verbatim} g \\end{verbatim} \\begin{tabular}{c} h & i \\end{tabular} \\[ j \\]} \\end{tabular} \\textbf \\' \\ \\begin \\end \\title{late} é\\'é~\n\n\\begin{thebibliography}{9}\n\\bibitem{k} Book.\n\\end{thebibliography}\n\\section{unclosed",
    "\\documentclass{a}\n\\DefineVerbatimEnvironment{Highlighting}{Verbatim}{commandchars=\\\\\\{\\}}\n\\DefineVerbatimEnvironment{mycode}{Verbatim}{}\n\\newtheorem{law}{Law}\n\\newcommand\\nm{Na\\emph{me}\\xspace}\n\\newcommand*{\\two}[0]{x}\\def\\eg{e.g.~}\\newcommand{\\all}{The \\nm--\\eg}\\newcommand{\\no}{\\unknown x}\\newcommand{\\arg}[1]{#1}\\newcommand{\\me}{\\me me}\n\\begin{document}\n\\section{S \\texorpdfstring{$x$}{x} t}\nUse \\nm now, \\nm{}s and \\nm. \\all \\no \\arg{a} \\me.\n\\begin{Shaded}\n\\begin{Highlighting}[]\n\\KeywordTok{def}\\NormalTok{ f(x):}\n  \\ControlFlowTok{return}\\NormalTok{ }\\StringTok{\\textquotesingle{}\\{\\}\\textbackslash{}n\\textquotesingle{}}\\NormalTok{ \\# {-}{-}}\n\\end{Highlighting}\n\\end{Shaded}\n\\VERB|\\NormalTok{a\\_b}| text\\hspace*{1em}more\\quad x\\hfill y\\enskip z\\\\[2pt]w\n\n\\begin{mycode}\n \\a\n\\end{mycode}\n\\begin{law}[Ohm]\nU.\n\\end{law}\n\\begin{box}[opt]{arg} body\n\\end{box}\n\\includegraphics[width=3cm, alt={Alt, w}]{x.svg} \\includesvg[alt=B,x]{y.svg} \\citep[see][p.~3]{k} \\citep[\\S 3]{l}\n\\end{document}\n",
];

#[test]
fn a_paper_is_read() {
    let layer = counted(SAMPLES[0]);
    let read = layer.structure.as_deref().unwrap();
    assert_eq!((read.title.as_deref(), read.metadata["author"].as_str()), (Some("On Things"), Some("Ann, Bob")));
    assert_eq!(
        layer.text,
        "# On *Things*[^1]\n\nAnn, Bob\n\nMay 2024\n\n**Abstract**\n\nWe do.\n\nMore.\n\n[^1]: Us.\n\n## Intro\n\nTextis \u{201c}quoted\u{201d} \u{2014} see [sec:in](#sec:in), [a,b, p. 1].[^2] Line\nnext.\n\n[^2]: A **note**.\n\n### Deep\n\nEnd.\n"
    );
    let document = Document::parse("a.tex".into(), layer);
    assert_eq!(document.sections[1].anchor, "sec:in");
    assert!(document.anchors.iter().any(|(name, _)| name == "two"));
}

#[test]
fn lists_and_terms_are_nested() {
    reads(
        SAMPLES[1],
        "# One\n\n## Two\n\n##### Run\n\nin.\n\n- a\n- x b\n  1. c\n  2. d\n\nTerm\n\n: Means.\n\n`Other`\n\n: Is.\n\n  More.\n\n> Q\n",
    );
}

#[test]
fn code_is_kept_as_it_is() {
    reads(
        SAMPLES[2],
        "```\n \\x{ % y\n```\n\n```c\nint a;\n```\n\n```python\nx = 1\n```\n\nUse `a b` or `c`, `d`, `e_f g`.\n\n```tex\n\\node {x};\n```\n\nyes\n",
    );
}

#[test]
fn formulas_are_kept_as_they_are() {
    reads(
        SAMPLES[3],
        "A $x_1 \\$ y$ and $z$.\n\n$$\na + b\n$$\n\n$$\nc\n$$\n\ncost $5.\n\n$$\na &= b \\\\ \n c &= d\n$$\n\n$$\ne\n$$\n\n$ open\n\nnext\n",
    );
}

#[test]
fn tables_have_rows_and_captions() {
    reads(
        SAMPLES[4],
        "A *table*.\n\n| a | b |\n| --- | --- |\n| wide | |\n| n m | **c**[^1] |\n\n![](a.png)\n\nFig.\n\narg\nInside & out.\n\n| x | y |\n| --- | --- |\n\n[^1]: In a cell.\n",
    );
}

#[test]
fn commands_are_characters_marks_or_nothing() {
    reads(
        SAMPLES[5],
        "é é ö ç š ß æ ø î ~ x̄ … & % _ { } # LaTeX \u{2018}a\u{2019} a\u{2013}b **bold** *it* `c_d` **one**\n\n**two** [a *link*](http://x.y/%a) http://z.w/_v a b `\\input{other}` red [tab](#tab:a)\n",
    );
}

#[test]
fn definitions_of_the_file_are_known() {
    reads(
        SAMPLES[7],
        "# S $x$ t\n\nUse Name now, Names and Name. The Name\u{2013}e.g. a .\n\n```\ndef f(x):\n  return '{}\\n' # --\n```\n\n`a_b` text more x y z\nw\n\n```\n \\a\n```\n\n[Ohm]\nU.\n\narg body\n\n![Alt, w](x.svg) ![B](y.svg) [see k, p. 3] [l]\n",
    );
}

#[test]
fn a_letter_with_an_accent_stands_for_its_command() {
    let document = Document::parse("a.tex".into(), counted("na\\\"{\\i}ve\n"));
    assert_eq!((&*document.text, document.place(&(2..4))), ("naïve\n", 2..8));
}

#[test]
fn an_example_of_a_document_is_no_preamble() {
    reads(
        "\\section{A}\nText.\n\\begin{verbatim}\n\\documentclass{x}\n\\begin{document}\n\\end{document}\n\\end{verbatim}\nMore.\n",
        "# A\n\nText.\n\n```\n\\documentclass{x}\n\\begin{document}\n\\end{document}\n```\n\nMore.\n",
    );
}

#[test]
fn a_section_ends_what_was_never_closed() {
    reads(
        "\\begin{itemize}\\item a\n\n\\begin{tabular}{c} b \\\\\n\n\\section{S}\nText.\n",
        "- a\n\n  | b |\n  | --- |\n\n# S\n\nText.\n",
    );
}

#[test]
fn comments_are_counted() {
    let layer = counted("a % x\nb \\iffalse c \\fi\n");
    let read = layer.structure.unwrap();
    assert_eq!(read.dropped.iter().map(|d| (d.reason, d.chars)).collect::<Vec<_>>(), [(DropReason::Comment, 14)]);
}

/// Texts that are repeated to make a file whose ends are missing, or whose nesting is deep.
const HOSTILE: [&str; 35] = [
    "\\newcommand\\a{b}\\a",
    "\\newcommand{\\a}{\\a\\a}",
    "\\includegraphics[alt={",
    "\\begin{Highlighting}",
    "{",
    "}",
    "\\textbf{",
    "\\textbf{\n\n",
    "\\begin{a}",
    "\\begin{verbatim}",
    "\\begin{itemize}\\item ",
    "\\item[",
    "\\item[\\item[",
    "$",
    "$$",
    "\\[",
    "\\(",
    "\\footnote{",
    "\\section{",
    "\\foo[",
    "\\begin{tabular}{c}&",
    "\\iffalse",
    "\\if",
    "\\def\\a",
    "%",
    "\\verb|",
    "\\end{a}",
    "\\\\",
    "\\'",
    "~",
    "\\cite[",
    "\\caption{",
    "\\title{",
    "$$\n\n\n\n\n\n",
    "\\[\n\n\n\n\n\n",
];

#[test]
fn all_characters_of_all_samples_are_counted() {
    for sample in SAMPLES {
        counted(sample);
    }
}

#[test]
fn any_text_is_read_and_counted() {
    check::mutations_are_counted("a.tex", &SAMPLES);
}

#[test]
fn hostile_texts_take_linear_time() {
    check::takes_linear_time("a.tex", &HOSTILE);
}

#[test]
fn soft_hyphens_and_spaces_without_width_are_left_out_and_counted() {
    reads("so\u{ad}ft\u{200b} hy\u{ad}phen\u{200d}s\n\n\u{200b}\n", "soft hyphen\u{200d}s\n");
}

#[test]
fn a_power_is_written_with_a_caret() {
    reads(
        "10\\textsuperscript{6} \\textbf{x\\textsuperscript {n+1}} 1\\textsuperscript{st}\n",
        "10^6 **x^(n+1)** 1st\n",
    );
    reads("a\\textsuperscript{2\n\nb} c\n", "a^2\n\nb c\n");
}

#[test]
fn an_argument_ends_with_its_brace() {
    reads("\\m{a}{b} c\n", "a b c\n");
    // A section ends what an unknown command opened; its title is no argument of that.
    reads("\\m{\\section{Title} text\n", "# Title\n\ntext\n");
    counted("\\m{\\section{\u{7b2c}\u{4e00}\u{689d}");
    counted("\\texorpdfstring{\\section{\u{7b2c}} \u{4e00}\u{689d}");
}
