//! The tokens of a file in RTF.

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'b> {
    /// `{`.
    Open,
    /// `}`.
    Close,
    /// A control word with its number: `\b0`.
    Word(&'b str, Option<i32>),
    /// A backslash before another character than a letter: `\~`.
    Symbol(u8),
    /// A byte of text in hexadecimal: `\'e9`.
    Hex(u8),
    /// Bytes of text as they are. Ends of lines are between tokens.
    Text(&'b [u8]),
    /// The data after `\bin`.
    Binary(&'b [u8]),
}

/// Iterates over the tokens of a file.
#[derive(Debug)]
pub(super) struct Tokens<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Tokens<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the bytes from here on for which a condition holds.
    fn take_while(&mut self, holds: impl Fn(u8) -> bool) -> &'b [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let len = rest.iter().position(|byte| !holds(*byte)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Reads what follows a backslash.
    fn control(&mut self) -> Option<Token<'b>> {
        let byte = self.peek()?;
        if byte.is_ascii_alphabetic() {
            return Some(self.word());
        }
        self.at += 1;
        if byte == b'\''
            && let Some([high, low]) = self.bytes.get(self.at..self.at + 2)
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            self.at += 2;
            return Some(Token::Hex(high * 16 + low));
        }
        Some(Token::Symbol(byte))
    }

    fn word(&mut self) -> Token<'b> {
        let name = std::str::from_utf8(self.take_while(|byte| byte.is_ascii_alphabetic())).unwrap_or_default();
        let number = self.number();
        if self.peek() == Some(b' ') {
            self.at += 1;
        }
        if name != "bin" {
            return Token::Word(name, number);
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let data = &rest[..usize::try_from(number.unwrap_or_default()).unwrap_or_default().min(rest.len())];
        self.at += data.len();
        Token::Binary(data)
    }

    fn number(&mut self) -> Option<i32> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        if digits.is_empty() {
            self.at = start;
            return None;
        }
        let sum = digits.iter().fold(0i32, |sum, digit| sum.saturating_mul(10).saturating_add(i32::from(digit - b'0')));
        Some(if negative { -sum } else { sum })
    }
}

impl<'b> Iterator for Tokens<'b> {
    type Item = Token<'b>;

    fn next(&mut self) -> Option<Token<'b>> {
        self.take_while(|byte| matches!(byte, b'\r' | b'\n'));
        match self.peek()? {
            b'{' => {
                self.at += 1;
                Some(Token::Open)
            }
            b'}' => {
                self.at += 1;
                Some(Token::Close)
            }
            b'\\' => {
                self.at += 1;
                self.control()
            }
            _ => Some(Token::Text(self.take_while(|byte| !matches!(byte, b'{' | b'}' | b'\\' | b'\r' | b'\n')))),
        }
    }
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
