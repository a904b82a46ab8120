//! Mail from the file to the layer: its blocks, its places, and the count of what is left out.

use chunkmill_text::document::Document;

use super::*;
use crate::check::{check, layer_of, mutations};
use crate::read;

const MAIL: &str = "From: =?utf-8?q?Ren=C3=A9?= <rene@example.org>\r\nTo: a@example.org, B <b@example.org>\r\nSubject: =?utf-8?b?w4l0dWRl?=\r\n of it\r\nDate: Mon, 2 Mar 2020 10:00:00 +0100\r\nMessage-ID: <1@example.org>\r\nContent-Type: multipart/mixed; boundary=\"x\"\r\n\r\npreamble\r\n--x\r\nContent-Type: multipart/alternative; boundary=y\r\n\r\n--y\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nOn Monday, Ann wrote:\r\n> > deep\r\n> quoted\r\n>\r\n> more\r\nCaf=E9 =\r\nis good.\r\n\r\n-- \r\nRen=E9\r\n--y\r\nContent-Type: text/html\r\n\r\n<p>Caf&eacute;</p>\r\n--y--\r\n--x\r\nContent-Type: text/csv; name=\"a.csv\"\r\nContent-Disposition: attachment; filename=\"b.csv\"\r\nContent-Transfer-Encoding: base64\r\n\r\nYSxiCg==\r\n--x\r\nContent-Type: message/rfc822\r\n\r\nFrom: c@example.org\r\nSubject: Inner\r\nContent-Type: text/plain; format=flowed\r\n\r\nA line that \r\nflows.\r\n> and \r\n> this\r\n\r\n--x--\r\nepilogue\r\n";

fn document(name: &str, bytes: &[u8]) -> Document {
    Document::parse(name.into(), layer_of(name, bytes))
}

#[test]
fn a_mail_has_its_text_and_the_messages_inside() {
    let document = document("a.eml", MAIL.as_bytes());
    assert_eq!(
        document.text,
        "# Étude of it\n\nOn Monday, Ann wrote:\n\n> > deep\n>\n> quoted\n>\n> more\n\nCafé is good.\n\n--\nRené\n\n## Inner\n\nFrom: c@example.org\n\nA line that flows.\n\n> and this\n"
    );
    assert_eq!(document.title.as_deref(), Some("Étude of it"));
    let metadata = serde_json::to_string(&document.metadata).unwrap();
    assert_eq!(
        metadata,
        "{\"attachments\":[\"b.csv\"],\"date\":\"2020-03-02T10:00:00+01:00\",\"from\":\"René <rene@example.org>\",\"message_id\":\"1@example.org\",\"to\":[\"a@example.org\",\"B <b@example.org>\"]}"
    );
    let places: Vec<_> = document.places.iter().map(|(_, place)| &*place.name).collect();
    assert_eq!(places, ["message 1", "message 1 part 1.1", "message 1 part 3"]);
    let dropped: Vec<_> = document.dropped.iter().map(|dropped| (dropped.reason, dropped.chars)).collect();
    assert_eq!(dropped, [(DropReason::Repeated, 18), (DropReason::Attachment, 3)]);
}

#[test]
fn messages_of_a_mailbox_are_sections() {
    let text = "From a Mon Mar 2 10:00:00 2020\nFrom: a@example.org\nSubject: One\n\nText.\n>From here\nFrom there\n\nFrom b Mon Mar 2 10:00:00 2020\nFrom: b@example.org\nDate: Mon, 2 Mar 2020 10:00:00 +0000\n\nTwo.\n";
    let document = document("a.mbox", text.as_bytes());
    assert_eq!(
        document.text,
        "# One\n\nFrom: a@example.org\n\nText.\nFrom here\nFrom there\n\n# (no subject)\n\nFrom: b@example.org\nDate: 2020-03-02T10:00:00Z\n\nTwo.\n"
    );
    assert_eq!(document.places.iter().map(|(_, place)| &*place.name).collect::<Vec<_>>(), ["message 1", "message 2"]);
}

#[test]
fn html_is_read_if_there_is_no_plain_text() {
    let mail = |plain: &str| {
        format!(
            "Subject: S\nContent-Type: multipart/alternative; boundary=y\n\n--y\nContent-Type: text/plain\n\n{plain}\n--y\nContent-Type: text/html\n\n<html><head><title>t</title></head><body><h1>Top</h1><div>One &amp; two</div><div>three <a href=x>link</a></div><p style='display:none'>unseen</p><blockquote type=cite>said</blockquote><ul><li>item</ul><table><tr><td>a</td><td>b</td></tr></table></body></html>\n--y--\n"
        )
    };
    assert_eq!(
        document("a.eml", mail(" ").as_bytes()).text,
        "# S\n\n## Top\n\nOne & two\n\nthree [link](x)\n\n> said\n\n- item\n\n| a | b |\n| --- | --- |\n"
    );
    let dropped = layer_of("a.eml", mail(" ").as_bytes()).structure.unwrap().dropped;
    let dropped: Vec<_> = dropped.iter().map(|dropped| (dropped.reason, dropped.chars)).collect();
    assert_eq!(dropped, [(DropReason::Markup, 1), (DropReason::Hidden, 6)]);
    assert_eq!(document("a.eml", mail("Plain.").as_bytes()).text, "# S\n\nPlain.\n");
}

#[test]
fn character_sets_are_decoded() {
    let mail = |charset: &str, body: &[u8]| {
        [format!("Subject: S\nContent-Type: text/plain{charset}\n\n").as_bytes(), body].concat()
    };
    assert_eq!(document("a.eml", &mail("; charset=gb2312", b"\xc4\xe3\xba\xc3")).text, "# S\n\n你好\n");
    assert_eq!(document("a.eml", &mail("; charset=iso-2022-jp", b"\x1b$B$3$s\x1b(B")).text, "# S\n\nこん\n");
    assert_eq!(document("a.eml", &mail("", b"caf\xe9")).text, "# S\n\ncafé\n");
    assert_eq!(document("a.eml", &mail("; charset=us-ascii", "é".as_bytes())).text, "# S\n\né\n");
}

#[test]
fn what_has_no_headers_is_text_and_what_is_binary_is_refused() {
    assert_eq!(document("a.eml", b"just some text\nof two lines\n").text, "just some text\nof two lines\n");
    let refusal = read("a.eml", b"\x89PNG\0\0".to_vec(), &ReadSettings::default()).unwrap_err();
    assert_eq!(refusal.reason.to_string(), "cannot be read as a mail: it has no headers");
    assert_eq!(document("a.eml", b"").text, "");
}

#[test]
fn hostile_mails_are_read_in_time() {
    let nested: String =
        (0..20_000).map(|at| format!("Content-Type: multipart/mixed; boundary=b{at}\n\n--b{at}\n")).collect();
    let absent = format!(
        "Content-Type: multipart/mixed; boundary=x\n\n{}",
        "--x\nContent-Type: multipart/mixed; boundary=absent\n\n\n".repeat(20_000)
    );
    let messages = "Content-Type: message/rfc822\n\n".repeat(20_000);
    let subject = format!("Subject: {}\n\ntext", "=?utf-8?q?".repeat(50_000));
    let address = format!("From: {}\n\ntext", "(<\"a@".repeat(50_000));
    let attributes = format!("Content-Type: text/plain{}\n\ntext", "; a*0*=\"b".repeat(50_000));
    let html = format!("Content-Type: text/html\n\n{}", "</<td>&<!--".repeat(50_000));
    let quotes = ">".repeat(500_000);
    for text in [
        nested,
        absent,
        messages,
        subject,
        address,
        attributes,
        html,
        quotes,
        "a: ".repeat(300_000),
        "From \n\n".repeat(50_000),
    ] {
        let _ = read("a.eml", text.into_bytes(), &ReadSettings::default());
    }
}

#[test]
fn no_change_of_bytes_makes_it_panic() {
    let mailbox = format!("From a\n{MAIL}\n\nFrom b\n{MAIL}");
    mutations(&[MAIL, &mailbox], 3000, |text| {
        if let Ok(layer) = read("a.eml", text.to_vec(), &ReadSettings::default()) {
            check(&layer, None);
        }
    });
}

#[test]
fn flowed_lines_are_joined_in_any_encoding() {
    for (encoding, body) in [
        ("8bit", "Plain caf\u{e9} flowed \nline.\nNext.\n"),
        ("quoted-printable", "Plain caf=C3=A9 flowed=20\nline.\nNext.\n"),
        ("quoted-printable", "Plain caf=C3=A9 flowed =\n\nline.\nNext.\n"),
        ("base64", "UGxhaW4gY2Fmw6kgZmxvd2VkIA0KbGluZS4NCk5leHQuDQo=\n"),
    ] {
        let mail = format!(
            "Subject: S\nContent-Type: text/plain; charset=\"utf-8\"; Format=\"Flowed\"\nContent-Transfer-Encoding: {encoding}\n\n{body}"
        );
        assert_eq!(document("a.eml", mail.as_bytes()).text, "# S\n\nPlain café flowed line.\nNext.\n", "{encoding}");
        assert_eq!(
            document("a.eml", mail.replace('\n', "\r\n").as_bytes()).text,
            "# S\n\nPlain café flowed line.\nNext.\n",
            "{encoding}"
        );
    }
}
