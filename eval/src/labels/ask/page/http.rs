//! The part of HTTP that the page needs: one request on each connection, of limited size and time, and its answer.
//!
//! It is written with the standard library. A page for one person on the same machine needs neither connections that
//! stay open nor compression nor ranges; the crates that offer less than a whole framework have not been released for
//! years.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use percent_encoding::percent_decode_str;

/// Largest number of bytes before the body of a request.
const HEAD: u64 = 16 << 10;

/// Largest number of bytes of a body.
const BODY: u64 = 1 << 20;

/// How long a browser may take to send a request, and to read the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The policy of the page: only its own files, no frames, no forms.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HttpRequest {
    pub(super) method: String,
    /// The path without its parameters, decoded.
    pub(super) path: String,
    parameters: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl HttpRequest {
    /// Reads a request. Returns `None` if nothing was sent, and an answer if it cannot be understood.
    pub(super) fn read(stream: &TcpStream) -> Result<Option<Self>, HttpReply> {
        let bad = |_| HttpReply::refusal(400, "the request ended early, or is not HTTP");
        stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE))).map_err(bad)?;
        let mut reader = BufReader::new(stream);
        let mut head = Vec::new();
        loop {
            let from = head.len();
            let left = HEAD.saturating_sub(from as u64);
            let read = (&mut reader).take(left).read_until(b'\n', &mut head).map_err(bad)?;
            if left == 0 {
                return Err(HttpReply::refusal(431, "the head of the request is too long"));
            }
            if read == 0 && from == 0 {
                return Ok(None);
            }
            if read == 0 {
                return Err(HttpReply::refusal(400, "the request ended early"));
            }
            if matches!(&head[from..], b"\r\n" | b"\n") {
                break;
            }
        }
        let mut request = Self::of_head(&head).ok_or_else(|| HttpReply::refusal(400, "the request is not HTTP"))?;
        if request.header("transfer-encoding").is_some() {
            return Err(HttpReply::refusal(411, "the length of the body is missing"));
        }
        let length = match request.header("content-length").map(str::parse::<u64>) {
            None => 0,
            Some(Ok(length)) if length <= BODY => length,
            Some(Ok(_)) => return Err(HttpReply::refusal(413, "the body is too long")),
            Some(Err(_)) => return Err(HttpReply::refusal(400, "the length of the body is not a number")),
        };
        let read = (&mut reader).take(length).read_to_end(&mut request.body).map_err(bad)?;
        if (read as u64) < length {
            return Err(HttpReply::refusal(400, "the body ended early"));
        }
        Ok(Some(request))
    }

    /// Parses the lines before the body.
    fn of_head(head: &[u8]) -> Option<Self> {
        let text = str::from_utf8(head).ok()?;
        let mut lines = text.lines();
        let mut first = lines.next()?.split(' ');
        let (method, target, version) = (first.next()?, first.next()?, first.next()?);
        if first.next().is_some() || !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return None;
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let parameter = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        };
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        Some(Self {
            method: method.to_owned(),
            path: decoded(path),
            parameters: query.split('&').map(parameter).collect(),
            headers: lines.filter(|line| !line.is_empty()).map(header).collect::<Option<_>>()?,
            body: Vec::new(),
        })
    }

    /// Returns the only value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
        values.next().filter(|_| values.next().is_none())
    }

    /// Returns a parameter of the address.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// An answer.
#[derive(Debug)]
pub(super) struct HttpReply {
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
}

impl HttpReply {
    /// Creates an answer with a file of the page.
    pub(super) fn file(kind: &'static str, text: &str) -> Self {
        Self { status: 200, kind, body: text.as_bytes().to_vec() }
    }

    /// Creates an answer in JSON.
    pub(super) fn json(value: &impl serde::Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => Self { status: 200, kind: "application/json", body },
            Err(error) => Self::refusal(500, &error.to_string()),
        }
    }

    /// Creates an answer that says what is wrong.
    pub(super) fn refusal(status: u16, problem: &str) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: format!("{problem}\n").into_bytes() }
    }

    /// Sends it. A browser that does not listen any more is not an error.
    pub(super) fn send(&self, mut stream: &TcpStream) {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            _ => "Refused",
        };
        let head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: \
             no-store\r\nContent-Security-Policy: {POLICY}\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: \
             nosniff\r\n\r\n",
            self.status,
            self.kind,
            self.body.len()
        );
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&self.body));
        let _ = stream.flush();
        // Closing a connection with unread bytes would make the system drop the answer.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.take(BODY).read_to_end(&mut Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_parsed_or_refused() {
        let head = b"GET /a%20b/c?d=%C3%A9&e HTTP/1.1\r\nHost: x\r\nA: 1\r\nA: 2\r\n\r\n";
        let request = HttpRequest::of_head(head).unwrap_or_default();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/a b/c"));
        assert_eq!(
            (request.parameter("d"), request.parameter("e"), request.parameter("f")),
            (Some("é"), Some(""), None)
        );
        assert_eq!((request.header("host"), request.header("a")), (Some("x"), None), "a header that is there twice");
        for wrong in [
            &b"\r\n"[..],
            b"GET\r\n\r\n",
            b"GET / HTTP/2\r\n\r\n",
            b"GET x HTTP/1.1\r\n\r\n",
            b"GET / / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nnothing\r\n\r\n",
            b"GET /\xff HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(HttpRequest::of_head(wrong), None, "{}", String::from_utf8_lossy(wrong));
        }
    }
}
