//! The messages of an Arrow IPC stream, checked before Arrow's reader sees them. A stream says how long a message is,
//! and how long each compressed buffer will be; the reader allocates that much at once, and a program that cannot
//! allocate ends. Here, a message takes as much memory as it has bytes, and no batch may ask for more than
//! [`MAX_BATCH`].

use std::io::{self, Read};

use arrow::ipc::{self, Message, RecordBatch};

/// Largest total size of the decompressed buffers of one batch, in bytes.
const MAX_BATCH: u64 = 4 << 30;

/// The four bytes before the length of a message, except in very old streams.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// A reader of whole messages. It passes on the same bytes, or fails at a message that asks for too much.
pub(crate) struct Frames<R> {
    source: R,
    message: Vec<u8>,
    at: usize,
}

impl<R: Read> Frames<R> {
    /// Creates a reader of a stream's messages.
    pub(crate) fn new(source: R) -> Self {
        Self { source, message: Vec::new(), at: 0 }
    }

    /// Reads up to `len` bytes into the message. Returns where they start.
    fn take(&mut self, len: u64) -> io::Result<usize> {
        let start = self.message.len();
        self.source.by_ref().take(len).read_to_end(&mut self.message)?;
        Ok(start)
    }

    /// Reads the next message, or as much as there is of it. Arrow's reader judges its form.
    fn advance(&mut self) -> io::Result<()> {
        self.message.clear();
        self.at = 0;
        self.take(4)?;
        let marked = self.message == CONTINUATION;
        let at = if marked { self.take(4)? } else { 0 };
        let len = self.message.get(at..).and_then(|len| len.try_into().ok()).map_or(0, i32::from_le_bytes);
        let head = self.take(u64::try_from(len).unwrap_or(0))?;
        let Ok(message) = ipc::root_as_message(&self.message[head..]) else { return Ok(()) };
        let len = u64::try_from(message.bodyLength()).unwrap_or(0);
        let sized = compressed(message);
        let body = self.take(len)?;
        let body = &self.message[body..];
        let size = |&at: &usize| {
            let size =
                body.get(at..at.saturating_add(8)).and_then(|size| size.try_into().ok()).map_or(0, i64::from_le_bytes);
            u64::try_from(size).unwrap_or(0)
        };
        let total = sized.iter().map(size).fold(0, u64::saturating_add);
        if total > MAX_BATCH {
            let problem = format!("a batch says that it has {total} bytes; at most {MAX_BATCH} are read at once");
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(())
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.message.len() {
            self.advance()?;
        }
        let n = (&self.message[self.at..]).read(into)?;
        self.at += n;
        Ok(n)
    }
}

/// Returns where in the body of a message its compressed buffers start. Each starts with its size, in 8 bytes.
fn compressed(message: Message<'_>) -> Vec<usize> {
    let batch: Option<RecordBatch<'_>> =
        message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data());
    let buffers = batch.filter(|batch| batch.compression().is_some()).and_then(|batch| batch.buffers());
    buffers.into_iter().flatten().filter_map(|buffer| usize::try_from(buffer.offset()).ok()).collect()
}
