//! Targets of links, images and HTML attributes.

use std::ops::Range;

use super::signal::{SignalKind, Signals};
use crate::document::block::{Link, LinkKind};

/// Number of bytes of a target searched for a scheme; anything after them is only content.
const MAX_SCHEME: usize = 96;

/// How much of a link's end is searched for its target. The limit keeps the scan of nested links linear.
const MAX_TAIL: usize = 4096;

/// Image types that cannot contain code.
const IMAGES: [&str; 9] = ["png", "jpeg", "jpg", "gif", "webp", "avif", "bmp", "x-icon", "vnd.microsoft.icon"];

/// Paths of a system's own files. `/var`, `/home` and similar paths are also used by web sites.
const SYSTEM: [&str; 4] = ["/etc/", "/proc/", "/root/.", "/var/log/"];

/// Names of things that the address of an image must not carry to another host.
const SECRETS: [&str; 9] = [
    "conversation",
    "history",
    "chat_log",
    "user_input",
    "user_message",
    "user_query",
    "user_prompt",
    "system_prompt",
    "system_message",
];

/// Adds the signals of a link or image.
pub(super) fn link(text: &str, path: &str, link: &Link, found: &mut Signals) {
    let kind = judge(&link.target, path, false).or_else(|| {
        (link.kind == LinkKind::Image && carries_secrets(&link.target)).then_some(SignalKind::PromptInjection)
    });
    if let Some(kind) = kind {
        found.add(kind, locate(text, link));
    }
}

/// Returns the bytes of a link's target, or of the whole link if the target is written differently.
fn locate(text: &str, link: &Link) -> Range<usize> {
    let source = &text[link.range.clone()];
    let mut from = source.len().saturating_sub(link.target.len() + MAX_TAIL);
    while !source.is_char_boundary(from) {
        from += 1;
    }
    let at = if link.target.len() <= MAX_TAIL {
        source[from..].rfind(&link.target)
    } else {
        source[from..].find(&link.target)
    };
    at.map_or(link.range.clone(), |at| {
        let start = link.range.start + from + at;
        start..start + link.target.len()
    })
}

/// Returns what is wrong with a target in the document at `path`. `html` says whether the target is still written
/// as in an attribute, with character references.
pub(super) fn judge(target: &str, path: &str, html: bool) -> Option<SignalKind> {
    let start = scheme(target, html);
    let rest = |name: &str| start.strip_prefix(name).and_then(|rest| rest.strip_prefix(':'));
    if let Some(code) = rest("javascript").or_else(|| rest("vbscript")) {
        let idle = matches!(code.trim_end_matches(';'), "" | "void(0)" | "void0" | "//" | "undefined");
        return (!idle).then_some(SignalKind::JavascriptUrl);
    }
    if let Some(data) = rest("data") {
        let kind = data.split([';', ',']).next().unwrap_or_default();
        let image = kind.strip_prefix("image/").is_some_and(|image| IMAGES.contains(&image));
        let text = kind == "text/plain" || kind.is_empty() && data.contains(',');
        return match (image, text) {
            (true, _) => Some(SignalKind::DataImage),
            (_, true) => None,
            _ if data.contains(',') => Some(SignalKind::DataUrl),
            // A link to a page about the prefix, for example a definition in a glossary.
            _ => None,
        };
    }
    (rest("file").is_some() || climbs(target, path)).then_some(SignalKind::PathTraversal)
}

/// Returns the start of a target as a browser reads it: without white space and controls, in lower case.
fn scheme(target: &str, html: bool) -> String {
    let mut start = String::new();
    let mut rest = target.trim_start_matches(|c: char| c.is_ascii_control() || c == ' ');
    // Most targets are paths and web addresses, recognized by their first letter.
    if !rest.starts_with(['j', 'J', 'v', 'V', 'd', 'D', 'f', 'F', '&']) {
        return start;
    }
    while start.len() < MAX_SCHEME {
        let Some(c) = rest.chars().next() else { break };
        let (c, len) = if html && c == '&' { reference(rest) } else { (c, c.len_utf8()) };
        if !c.is_ascii_control() && c != ' ' {
            start.push(c.to_ascii_lowercase());
        }
        rest = &rest[len..];
    }
    start
}

/// Returns the character that a character reference stands for, and its length.
fn reference(text: &str) -> (char, usize) {
    let named =
        [("&colon;", ':'), ("&tab;", '\t'), ("&newline;", '\n'), ("&sol;", '/'), ("&lpar;", '('), ("&comma;", ',')];
    for (name, c) in named {
        if text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            return (c, name.len());
        }
    }
    let Some(number) = text.strip_prefix("&#") else { return ('&', 1) };
    let digits = number.strip_prefix(['x', 'X']);
    let (digits, radix) = digits.map_or((number, 10), |hex| (hex, 16));
    let digits = digits.trim_start_matches('0');
    let len = digits.bytes().take(10).take_while(|b| char::from(*b).is_digit(radix)).count();
    let Some(c) = u32::from_str_radix(&digits[..len], radix).ok().and_then(char::from_u32) else { return ('&', 1) };
    let end = text.len() - digits.len() + len;
    (c, end + usize::from(text[end..].starts_with(';')))
}

/// System folders. A link that leaves the collection and names one of them targets the system.
const SYSTEM_FOLDERS: [&str; 8] = ["etc", "proc", "root", ".ssh", ".aws", "windows", "winnt", "system32"];

/// Maximum number of levels that a link may climb above the collection's root; one that climbs further is looking
/// for the root of the system. One or two levels are normal for links in a part of a larger collection.
const MAX_ABOVE: usize = 3;

/// Returns whether a target climbs out of the collection to system folders, hides that it goes up, or is a system
/// path.
fn climbs(target: &str, path: &str) -> bool {
    let target = &target[..memchr::memchr2(b'?', b'#', target.as_bytes()).unwrap_or(target.len())];
    let bytes = target.as_bytes();
    if bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && matches!(bytes[2], b'/' | b'\\') {
        return true;
    }
    if target.starts_with("\\\\") || SYSTEM.iter().any(|system| target.starts_with(system)) {
        return true;
    }
    if !bytes.contains(&b'%') && !bytes.windows(2).any(|pair| pair == b"..") {
        return false;
    }
    let absolute = target.starts_with("//") || after_scheme(target).is_some();
    let mut depth = if target.starts_with('/') { 0 } else { path.matches('/').count() };
    let mut above = 0;
    for segment in target.split(['/', '\\']) {
        match segment {
            "" | "." => {}
            ".." if absolute => {}
            ".." if depth == 0 => above += 1,
            ".." => depth -= 1,
            _ if hides_dots(segment) => return true,
            _ if above > 0 && depth == 0 && SYSTEM_FOLDERS.contains(&segment.to_ascii_lowercase().as_str()) => {
                return true;
            }
            _ => depth += 1,
        }
    }
    above > MAX_ABOVE
}

/// Returns the part of a target after the scheme and colon, if it has them (RFC 3986, section 3.1).
pub fn after_scheme(target: &str) -> Option<&str> {
    let (scheme, rest) = target.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    is_scheme.then_some(rest)
}

/// Returns whether a path segment is a percent-encoded `..`, alone or before an encoded slash.
fn hides_dots(segment: &str) -> bool {
    if !segment.contains('%') {
        return false;
    }
    let plain =
        segment.to_ascii_lowercase().replace("%25", "%").replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    plain.split('/').any(|part| part == "..")
}

/// Returns whether the query of an image's address on another host contains a placeholder for something a model
/// knows about its user. Fetching the image would send it there.
fn carries_secrets(target: &str) -> bool {
    let Some((host, query)) = target.split_once('?') else { return false };
    let far = host.starts_with("http://") || host.starts_with("https://") || host.starts_with("//");
    far && query.split('&').any(|pair| {
        let value = pair.split_once('=').map_or(pair, |(_, value)| value).to_ascii_lowercase();
        let value = value
            .replace("%7b", "{")
            .replace("%5b", "[")
            .replace("%3c", "<")
            .replace("%20", "_")
            .replace([' ', '-', '+'], "_");
        value.starts_with(['{', '[', '<', '$']) && SECRETS.iter().any(|secret| value.contains(secret))
    })
}
