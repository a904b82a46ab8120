//! A few texts of many kinds, used to find which of a network's numbers are too large for bytes.

use chunkmill_base::error::Result;

use crate::embedder::Role;
use crate::tokenizer::ModelTokenizer;

/// The sample texts, written for this purpose. None is from a corpus that is used for measurements.
const TEXTS: &[&str] = &[
    "",
    "?",
    "b",
    "yes",
    "42",
    "- item",
    "no.",
    "$$",
    "```",
    "The",
    "Hello, world!",
    "## Setup",
    "x = y + 1",
    "TODO: fix",
    "ä ö ü ß",
    "日本語の文章です。",
    "Привет, как дела?",
    "2024-03-17T08:15:00Z",
    "https://example.org/a/b?c=d",
    "user@example.com",
    "The committee approved the budget for the new bridge after a long debate about tolls and traffic.",
    "Photosynthesis converts light energy into chemical energy stored in glucose molecules.",
    "def mean(xs):\n    \"\"\"Arithmetic mean.\"\"\"\n    return sum(xs) / len(xs) if xs else 0.0",
    "fn main() {\n    let v: Vec<u32> = (0..10).map(|x| x * x).collect();\n    assert_eq!(v.len(), 10);\n}",
    "SELECT name, COUNT(*) FROM orders JOIN customers USING (customer_id) GROUP BY name HAVING COUNT(*) > 3;",
    "| Region | Sales | Change |\n| --- | --- | --- |\n| North | 1,204 | +3.1% |\n| South | 988 | -0.4% |",
    "# Installation\n\n1. Download the archive.\n2. Unpack it into `/opt/app`.\n3. Run `./install.sh --prefix \
     /usr/local`.\n\n> Note: root rights are needed only for step 3.",
    "How do vaccines train the immune system to recognise a virus it has never met?",
    "Mice lacking the receptor showed reduced inflammation (p < 0.01, n = 24) and recovered their weight within \
     ten days of infection.",
    "The tenant shall pay the rent on the first day of each calendar month, without set-off or deduction, to \
     the account named in Schedule 2.",
    "Le conseil municipal se réunira jeudi prochain pour examiner le plan de rénovation des écoles.",
    "Der Zug nach München fährt heute wegen einer Störung von Gleis neun ab.",
    "La biblioteca cierra a las ocho, pero la sala de lectura permanece abierta toda la noche.",
    "{\"id\": 17, \"tags\": [\"red\", \"blue\"], \"nested\": {\"ok\": true, \"ratio\": 0.75}, \"note\": null}",
    "<html><body><p class=\"lead\">Welcome &amp; enjoy</p><ul><li>one</li><li>two</li></ul></body></html>",
    "error: cannot borrow `buf` as mutable because it is also borrowed as immutable at src/main.rs:42:9",
    "2023-11-02 14:03:55,812 WARN [worker-7] retrying request 0x7f3a after timeout of 3000 ms (attempt 4 of 5)",
    "aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa",
    "!!! ??? ... --- === *** ### @@@ %%% &&& ((( ))) [[[ ]]]",
    "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30",
    "The cell membrane is a lipid bilayer with embedded proteins. It controls which substances enter and leave \
     the cell. Channels allow ions to pass along their gradient, while pumps use ATP to move them against it. \
     Receptors on the surface bind hormones and other signals and pass the message inside, where a cascade of \
     enzymes amplifies it many times before a gene is switched on or off.",
    "In the spring the river rose over the lower fields and the farmers moved their cattle to the hill. For \
     nine days nobody crossed the ford. When the water fell it left behind a layer of grey silt, fence posts, \
     and a small wooden boat that no one in the village would claim. The children painted it green, and it \
     stood by the schoolhouse until the roof was repaired and the boards were wanted for the ladder.",
    "A queue is a first-in, first-out structure; a stack is last-in, first-out. Both can be built on a linked \
     list or a ring buffer. The ring buffer keeps its items in one block of memory, so it is friendlier to the \
     cache, but its size must be known or it must be copied when it grows. Amortised over many pushes, doubling \
     the capacity each time gives constant cost per operation. With several threads, a lock-free queue needs \
     care with memory ordering and reclamation of nodes.",
    "Central banks raise interest rates to slow inflation. Higher rates make borrowing dearer for households \
     and firms, which reduces spending and investment; they also tend to strengthen the currency, making \
     imports cheaper. The effect takes from several months to two years to be felt in full. If rates rise too \
     quickly, unemployment may climb and heavily indebted borrowers may default; if too slowly, expectations of \
     high inflation may become entrenched in wage bargaining and price setting.",
    "Q: My printer shows as offline although it is connected.\nA: Check the cable first, then restart the print \
     spooler service. On some systems the port name changes after an update; open the printer properties, \
     choose the Ports tab and select the port that carries the printer's current address. If the problem stays, \
     remove the device, restart the computer, and add it again with the newest driver.",
    "Abstract. We study the convergence of stochastic gradient descent with momentum on non-convex objectives. \
     Under a bounded variance assumption we show that the expected squared gradient norm falls as O(1/sqrt(T)). \
     Experiments on image classification and language modelling confirm that the constant predicted by the \
     theory is within a factor of two of the measured one. We also discuss the choice of batch size and the \
     warm-up schedule.",
    "Recipe: soak 250 g chickpeas overnight, drain, and simmer for 50 minutes. Fry one chopped onion with \
     cumin, coriander and chilli; add two tins of tomatoes, the chickpeas and 200 ml of water. Cook for 20 \
     minutes, season with salt and lemon juice, and serve with rice and fresh coriander leaves.",
    "The Treaty of Westphalia in 1648 ended the Thirty Years' War. Historians often take it as the beginning of \
     the modern system of sovereign states, though others hold that the change was gradual and that the treaty \
     itself says little about sovereignty.",
];

/// Returns the token ids of the sample texts.
///
/// # Errors
/// Those of the tokenizer.
pub(super) fn encode(tokenizer: &ModelTokenizer) -> Result<Vec<Vec<u32>>> {
    TEXTS.iter().map(|text| Ok(tokenizer.encode(text, Role::Document)?.ids)).collect()
}
