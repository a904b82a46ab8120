//! Asks a person in a browser.
