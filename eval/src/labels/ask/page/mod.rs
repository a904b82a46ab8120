//! Asks a person in a browser: a local page with the question, its proposals, and the document next to them.
//!
//! The program listens on the loopback interface alone. The address has a random part, and a request without it is
//! refused, so no other user and no other page can read the documents or answer. Requests that name another host, as
//! after a rebound name, or that another page sends are refused too. The page is part of the program, loads nothing else,
//! and may by its policy neither load nor send anything elsewhere.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `http` | What does the browser ask, and how is it answered? |
//! | `exchange` | What do the page and the program tell each other? |
//! | `server` | Who may ask, and when does it end? |
//! | `page.html`, `page.css`, `page.js` | How does it look, and what do keys and mouse do? |

mod exchange;
mod http;
mod server;

pub use server::Page;
