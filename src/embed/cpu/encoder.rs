//! The encoder of the BERT family (Devlin et al. 2018), for batch work: texts are packed one after
//! another without padding, and every buffer is used again for the next group.
//!
//! Of a layer, attention goes head by head and the rest a block of rows at a time, so that what is
//! being worked on stays in a core's own cache. A row's result depends on its text alone: sums are taken in the same
//! order wherever the row lies.

use super::kernel::{Attention, Floats, GELU_FLOOR, Input, Kernel, Matrix, Operand, PAD, Precision, Scratch, Then};

/// The shape of a network.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// Width of hidden states.
    pub hidden: usize,
    /// Heads of attention; they divide `hidden`.
    pub heads: usize,
    /// Width between the two linear layers of the feed-forward part.
    pub intermediate: usize,
    /// Layers.
    pub layers: usize,
    /// Added to variances.
    pub epsilon: f32,
    /// Position of a text's first token. Where it is not 0 it follows the id of padding: a token of that id
    /// in a text, say of one about padding, lies at the position of its id and is not counted.
    pub first_position: usize,
}

/// A linear layer's parameters: a row of weights for each output.
#[derive(Debug)]
pub(super) struct Linear {
    /// Row by row.
    pub weight: Vec<f32>,
    /// One for each output.
    pub bias: Vec<f32>,
}

/// A layer normalisation's parameters.
#[derive(Debug)]
pub(super) struct Norm {
    /// What is multiplied by.
    pub weight: Vec<f32>,
    /// What is added.
    pub bias: Vec<f32>,
}

/// A layer's parameters.
#[derive(Debug)]
pub(super) struct LayerWeights {
    /// Of queries, keys and values.
    pub attention: [Linear; 3],
    /// After attention.
    pub output: Linear,
    /// After that.
    pub output_norm: Norm,
    /// The feed-forward part's first half.
    pub up: Linear,
    /// Its second half.
    pub down: Linear,
    /// After that.
    pub down_norm: Norm,
}

/// The parameters of the embedding layer.
#[derive(Debug)]
pub(super) struct Embeddings {
    /// A row of `hidden` for each token id.
    pub words: Vec<f32>,
    /// A row for each position.
    pub positions: Vec<f32>,
    /// What every token gets besides.
    pub every: Vec<f32>,
    /// After their sum.
    pub norm: Norm,
}

/// A network ready to run.
#[derive(Debug)]
pub(super) struct Encoder {
    kernel: Kernel,
    shape: Shape,
    words: Vec<f32>,
    positions: Vec<f32>,
    norm: [Floats; 2],
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    inputs: [Input; 4],
    /// For each few heads, their queries, keys and values side by side.
    groups: Vec<(usize, Matrix)>,
    output: Matrix,
    output_norm: [Floats; 2],
    up: Matrix,
    down: Matrix,
    down_norm: [Floats; 2],
}

/// What reads a layer's intermediate states: the places where numbers may be held in fewer bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Site {
    Attention,
    Output,
    Up,
    Down,
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    hidden: Floats,
    heads: Floats,
    context: Floats,
    wide: Floats,
    operand: Operand,
    block: Operand,
    scratch: Scratch,
}

impl Encoder {
    /// Prepares a network; weights come a layer at a time, so that few are held twice.
    ///
    /// In [`Precision::Int8`] each layer is first run as floats over `samples`, to see which of its
    /// numbers are too large for bytes.
    ///
    /// # Errors
    /// Those of `layer`.
    pub(super) fn new<E>(
        kernel: Kernel,
        shape: Shape,
        embeddings: Embeddings,
        samples: &[&[u32]],
        mut layer: impl FnMut(usize) -> Result<LayerWeights, E>,
    ) -> Result<Self, E> {
        let mut positions = embeddings.positions;
        for row in positions.chunks_exact_mut(shape.hidden) {
            row.iter_mut().zip(&embeddings.every).for_each(|(x, y)| *x += y);
        }
        let layers = Vec::new();
        let words = embeddings.words;
        let mut encoder = Self { kernel, words, positions, norm: padded(&embeddings.norm), layers, shape };
        let mut workspace = Workspace::default();
        let mut states = Floats::default();
        let observing = kernel.precision() == Precision::Int8;
        if observing {
            let len = encoder.floats(samples);
            states.grow(len);
            encoder.embed(samples, &mut states[..len]);
        }
        for index in 0..encoder.shape.layers {
            let weights = layer(index)?;
            let mut inputs = encoder.shape.inputs().map(Input::unknown);
            if observing {
                let floats = Layer::new(&kernel.floats(), &encoder.shape, inputs, &weights);
                let len = encoder.floats(samples);
                inputs = floats.observe(&kernel.floats(), &encoder.shape, samples, &mut states[..len], &mut workspace);
            }
            encoder.layers.push(Layer::new(&kernel, &encoder.shape, inputs, &weights));
        }
        Ok(encoder)
    }

    /// What of a text the network has no parameters for, if anything.
    #[must_use]
    pub(super) fn refuses(&self, ids: &[u32]) -> Option<String> {
        let (vocabulary, size) = (self.words.len() / self.shape.hidden, self.shape.hidden);
        let longest = (self.positions.len() / size).saturating_sub(self.shape.first_position);
        match ids.iter().find(|&&id| id as usize >= vocabulary) {
            Some(id) => Some(format!("token {id} is not among the {vocabulary} of the weights")),
            None if ids.len() > longest => Some(format!("{} tokens are more than the {longest} it reads", ids.len())),
            None if ids.is_empty() => Some("a text has no tokens".to_owned()),
            None => None,
        }
    }

    /// Floats from one token's hidden state to the next.
    #[must_use]
    pub(super) fn stride(&self) -> usize {
        self.shape.width()
    }

    /// The hidden states of all tokens of some texts, one after another, [`Self::stride`] floats each.
    ///
    /// # Panics
    /// If a text is one that [`Self::refuses`].
    pub(super) fn forward<'w>(&self, texts: &[&[u32]], workspace: &'w mut Workspace) -> &'w [f32] {
        let len = self.floats(texts);
        let mut hidden = std::mem::take(&mut workspace.hidden);
        hidden.grow(len);
        let states = &mut hidden[..len];
        self.embed(texts, states);
        for layer in &self.layers {
            layer.run(&self.kernel, &self.shape, texts, states, workspace, &mut |_, _| ());
        }
        workspace.hidden = hidden;
        &workspace.hidden[..len]
    }

    /// Floats of the hidden states of some texts.
    fn floats(&self, texts: &[&[u32]]) -> usize {
        texts.iter().map(|ids| ids.len()).sum::<usize>() * self.shape.width()
    }

    /// What the first layer reads.
    fn embed(&self, texts: &[&[u32]], hidden: &mut [f32]) {
        let size = self.shape.hidden;
        let mut rows = hidden.chunks_exact_mut(self.shape.width());
        for ids in texts {
            let mut next = self.shape.first_position;
            for &id in *ids {
                let Some(row) = rows.next() else { return };
                let is_padding = id as usize + 1 == self.shape.first_position;
                let position = if is_padding { id as usize } else { next };
                next += usize::from(!is_padding);
                let word = &self.words[id as usize * size..][..size];
                let place = &self.positions[position * size..][..size];
                for ((x, word), place) in row.iter_mut().zip(word).zip(place) {
                    *x = word + place;
                }
                row[size..].fill(0.0);
            }
        }
        let [weight, bias] = &self.norm;
        self.kernel.layer_norm(hidden, size, weight, bias, self.shape.epsilon);
    }
}

impl Shape {
    /// Width of a hidden state, padded.
    fn width(&self) -> usize {
        self.hidden.next_multiple_of(PAD)
    }

    /// Width of a head.
    fn head(&self) -> usize {
        self.hidden / self.heads
    }

    /// Width of a head, padded.
    fn head_width(&self) -> usize {
        self.head().next_multiple_of(16)
    }

    /// Widths of what a layer's four sites read.
    fn inputs(&self) -> [usize; 4] {
        [self.hidden, self.heads * self.head_width(), self.hidden, self.intermediate]
    }
}

fn padded(norm: &Norm) -> [Floats; 2] {
    [&norm.weight, &norm.bias].map(|values| {
        let mut floats = Floats::new(values.len().next_multiple_of(PAD));
        floats[..values.len()].copy_from_slice(values);
        floats
    })
}

impl Layer {
    fn new(kernel: &Kernel, shape: &Shape, inputs: [Input; 4], weights: &LayerWeights) -> Self {
        let (real, head) = (shape.head(), shape.head_width());
        // As few heads as fill whole panels with their queries, keys and values.
        let together = (1..shape.heads).find(|count| (3 * count * head).is_multiple_of(PAD)).unwrap_or(shape.heads);
        let heads: Vec<usize> = (0..shape.heads).collect();
        let groups = heads.chunks(together).map(|group| {
            let mut weight = Vec::new();
            let mut bias = Vec::new();
            for linear in &weights.attention {
                for index in group {
                    weight.extend_from_slice(&linear.weight[index * real * shape.hidden..][..real * shape.hidden]);
                    weight.resize(weight.len() + (head - real) * shape.hidden, 0.0);
                    bias.extend_from_slice(&linear.bias[index * real..][..real]);
                    bias.resize(bias.len() + head - real, 0.0);
                }
            }
            (group.len(), kernel.matrix(&weight, &bias, &inputs[0]))
        });
        Self {
            groups: groups.collect(),
            output: kernel.matrix(&spread(shape, &weights.output.weight), &weights.output.bias, &inputs[1]),
            output_norm: padded(&weights.output_norm),
            up: kernel.matrix(&weights.up.weight, &weights.up.bias, &inputs[2]),
            down: kernel.matrix(&weights.down.weight, &weights.down.bias, &inputs[3]),
            down_norm: padded(&weights.down_norm),
            inputs,
        }
    }

    /// Runs the layer on the hidden states of some texts, in place. `watch` sees what each site reads.
    fn run(
        &self,
        kernel: &Kernel,
        shape: &Shape,
        texts: &[&[u32]],
        hidden: &mut [f32],
        workspace: &mut Workspace,
        watch: &mut impl FnMut(Site, &[f32]),
    ) {
        let Workspace { heads, context, wide, operand, block, scratch, .. } = workspace;
        let (width, head) = (shape.width(), shape.head_width());
        let tokens = hidden.len() / width;
        let context_width = (shape.heads * head).next_multiple_of(PAD);
        context.grow(tokens * context_width);
        #[expect(clippy::cast_precision_loss, reason = "a head is far narrower than 2^24")]
        let scale = 1.0 / (shape.head() as f32).sqrt();
        watch(Site::Attention, hidden);
        kernel.hold(hidden, width, tokens, &self.inputs[0], operand);
        let mut first_head = 0;
        for (count, matrix) in &self.groups {
            let stride = (3 * count * head).next_multiple_of(PAD);
            heads.grow(tokens * stride);
            kernel.multiply(operand, matrix, Then::Store, heads);
            let mut first = 0;
            for ids in texts {
                for index in 0..*count {
                    let at = |part: usize| &heads[first * stride + (part * count + index) * head..];
                    let job = Attention::new([at(0), at(1), at(2)], stride, ids.len(), head, scale);
                    let to = first * context_width + (first_head + index) * head;
                    kernel.attend(job, &mut context[to..], context_width, scratch);
                }
                first += ids.len();
            }
            first_head += count;
        }
        let wide_width = shape.intermediate.next_multiple_of(PAD);
        let together = kernel.rows();
        wide.grow(together * wide_width);
        for (rows, context) in hidden.chunks_mut(together * width).zip(context.chunks_mut(together * context_width)) {
            let count = rows.len() / width;
            watch(Site::Output, &context[..count * context_width]);
            kernel.hold(context, context_width, count, &self.inputs[1], block);
            kernel.multiply(block, &self.output, Then::Add, rows);
            let [weight, bias] = &self.output_norm;
            kernel.layer_norm(rows, shape.hidden, weight, bias, shape.epsilon);
            watch(Site::Up, rows);
            kernel.hold(rows, width, count, &self.inputs[2], block);
            kernel.multiply(block, &self.up, Then::Gelu, wide);
            watch(Site::Down, &wide[..count * wide_width]);
            kernel.hold(wide, wide_width, count, &self.inputs[3], block);
            kernel.multiply(block, &self.down, Then::Add, rows);
            let [weight, bias] = &self.down_norm;
            kernel.layer_norm(rows, shape.hidden, weight, bias, shape.epsilon);
        }
    }

    /// Runs the layer and returns what is to be known of its inputs.
    fn observe(
        &self,
        kernel: &Kernel,
        shape: &Shape,
        texts: &[&[u32]],
        states: &mut [f32],
        workspace: &mut Workspace,
    ) -> [Input; 4] {
        let mut sizes = shape.inputs().map(|width| vec![0.0_f32; width]);
        self.run(kernel, shape, texts, states, workspace, &mut |site, rows| {
            let sizes = &mut sizes[site as usize];
            for row in rows.chunks_exact(sizes.len().next_multiple_of(PAD)) {
                sizes.iter_mut().zip(row).for_each(|(size, x)| *size = size.max(x.abs()));
            }
        });
        let [attention, output, up, down] = sizes;
        [
            Input::observed(&attention, None),
            Input::observed(&output, None),
            Input::observed(&up, None),
            Input::observed(&down, Some(GELU_FLOOR)),
        ]
    }
}

/// The weights that read the heads' results, with zeros where heads are padded.
fn spread(shape: &Shape, weight: &[f32]) -> Vec<f32> {
    let (real, head) = (shape.head(), shape.head_width());
    let parts = weight.chunks_exact(real);
    parts.flat_map(|part| part.iter().copied().chain(std::iter::repeat_n(0.0, head - real))).collect()
}
