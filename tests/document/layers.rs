//! The door for texts: each encoding that is read, and the way from a place in the text back to the file.

use chunkmill::document::{Document, Layer, Origin};
use proptest::prelude::*;

use crate::common::{folder, run, write};

/// A way to write a text into a file, and the name of the file.
#[derive(Debug, Clone, Copy)]
enum Written {
    Utf8,
    Utf16Le,
    Utf16Be,
    Latin1,
}

impl Written {
    fn name(self) -> &'static str {
        if matches!(self, Self::Latin1) { "a.py" } else { "a.md" }
    }

    /// Returns the bytes of a whole file.
    fn file(self, text: &str) -> Vec<u8> {
        let start: &[u8] = match self {
            Self::Utf8 => b"",
            Self::Utf16Le => b"\xFF\xFE",
            Self::Utf16Be => b"\xFE\xFF",
            // Not UTF-8, so the declaration counts.
            Self::Latin1 => b"# coding: latin-1 \xE9\n",
        };
        [start, &self.bytes(text)].concat()
    }

    fn bytes(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 => text.as_bytes().to_vec(),
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Self::Latin1 => text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect(),
        }
    }
}

proptest! {
    #[test]
    fn a_place_in_the_file_has_the_text_of_the_range(
        text in "(?s)([ -~\n]|é|語|🚲){1,40}",
        times in prop_oneof![Just(1_usize), Just(400)],
        written in prop_oneof![Just(Written::Utf8), Just(Written::Utf16Le), Just(Written::Utf16Be), Just(Written::Latin1)],
        at in any::<[prop::sample::Index; 2]>(),
    ) {
        let text = text.repeat(times);
        let file = written.file(&text);
        let layer = Layer::read(written.name(), file.clone()).unwrap();
        let mut range = at.map(|index| layer.text.floor_char_boundary(index.index(layer.text.len() + 1)));
        range.sort_unstable();
        let range = range[0]..range[1];
        let place = layer.map.place(&layer.text, &range);
        let bytes = &file[usize::try_from(place.start).unwrap()..usize::try_from(place.end).unwrap()];
        prop_assert_eq!(bytes, written.bytes(&layer.text[range]));
        prop_assert_eq!(layer.map.is_identity(), matches!(written, Written::Utf8));
    }
}

fn read(path: &str, bytes: &[u8]) -> Result<String, String> {
    Layer::read(path, bytes.to_vec()).map(|layer| layer.text).map_err(|refusal| refusal.reason.to_string())
}

#[test]
fn latin_1_is_read_where_it_is_declared() {
    let of = |path: &str, text: &str| read(path, &Written::Latin1.bytes(text));
    for declared in [
        "# -*- coding: latin-1 -*-\n",
        "#!/usr/bin/python\n# vim: set fileencoding=iso-8859-1 :\n",
        "#coding=Latin_1\n",
        "\n  # coding: iso-8859-1-unix\n",
    ] {
        let text = format!("{declared}s = 'é'\n");
        assert_eq!(of("a.py", &text), Ok(text.clone()), "{declared:?}");
    }
    for (path, declared) in
        [("a.md", "<!-- -*- coding: latin-1 -*- -->\n"), ("a.js", "// -*- mode: js; coding: latin-1 -*-\n")]
    {
        let text = format!("{declared}é\n");
        assert_eq!(of(path, &text), Ok(text.clone()), "{path}");
    }
    let undeclared = [
        ("a.py", "a = 1\nb = 2\n# coding: latin-1\né"),
        ("a.md", "# coding: latin-1\né"),
        ("a.py", "coding: latin-1\né"),
    ];
    for (path, text) in undeclared {
        assert!(of(path, text).unwrap_err().starts_with("is not valid UTF-8"), "{path}: {text}");
    }
    let other = of("a.py", "# coding: shift_jis\né").unwrap_err();
    assert_eq!(other, "declares the encoding \"shift_jis\", which is not read; save it as UTF-8");
    assert!(of("a.py", "# coding: utf-8\né").unwrap_err().starts_with("is not valid UTF-8"));
    // What is valid UTF-8 is read as that.
    let text = "# coding: latin-1\né\n";
    assert_eq!(read("a.py", text.as_bytes()), Ok(text.to_owned()));
}

#[test]
fn a_document_says_where_its_parts_are_in_the_file() {
    let file = Written::Utf16Le.file("# Äpfel\n\nRot.\n");
    let document = Document::parse(Origin::from("a.md"), Layer::read("a.md", file).unwrap());
    let start = document.text.find("Rot").unwrap();
    assert_eq!((start, document.place(&(start..start + 3))), (10, 20..26));
    let home = folder(&[("b.md", "# B\n\ntext\n")]);
    write(home.path(), "a.md", &Written::Utf16Le.file("# Äpfel\n\nRot.\n"));
    let explained = |file: &str| -> serde_json::Value {
        let (code, out, err) = run(home.path(), &["explain", file, "--json"]);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str(out.lines().next().unwrap()).unwrap()
    };
    assert_eq!(explained("a.md")["file_bytes"], serde_json::json!([2, 28]));
    assert_eq!(explained("b.md").get("file_bytes"), None);
}
