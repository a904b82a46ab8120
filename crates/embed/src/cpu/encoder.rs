//! Encoders of the BERT family (Devlin et al. 2018) and its successors, for batch processing: texts are packed one
//! after another without padding, and all buffers are reused for the next batch. [`Shape`] describes what a
//! network's blocks do; no code is specific to a single network.
//!
//! In each layer, attention is computed head by head and the rest one block of rows at a time, so the working set
//! stays in a core's own cache. A row's result depends only on its text: sums are computed in the same order
//! wherever the row is.

use chunkmill_base::value;

use crate::kernel::{
    Attention, Distances, Floats, Input, Kernel, Matrix, Operand, PAD, Precision, Rotation, Scratch, Then,
};

/// The shape of a network.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// Width of hidden states.
    pub hidden: usize,
    /// Number of attention heads; divides `hidden`.
    pub heads: usize,
    /// Width between the two linear layers of the feed-forward part.
    pub intermediate: usize,
    /// Reach and rotation of each layer.
    pub layers: Vec<Sight>,
    /// Epsilon that is added to variances.
    pub epsilon: f32,
    /// Position of a text's first token, if positions are learned. If it is not 0, it follows the id of the padding
    /// token. A padding token in a text, for example in a text about padding, gets its id as position and is not
    /// counted.
    pub first_position: usize,
    /// Bases of the angles by which queries and keys are rotated, if they are.
    pub rotations: Vec<f64>,
    /// Activation after the first half of the feed-forward part.
    pub activation: Then,
    /// Where the parts of a layer are normalised.
    pub norms: Norms,
    /// Maximum number of tokens of a text.
    pub longest: usize,
}

/// The part of a text that a layer attends to, and how positions enter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sight {
    /// Number of tokens to each side that a token attends to, if not all.
    pub reach: Option<usize>,
    /// Index in [`Shape::rotations`] of the rotation of its queries and keys, if there is one.
    pub rotation: Option<usize>,
}

/// Where the two parts of a layer are normalised (Xiong et al. 2020).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Norms {
    /// The input of the part; its output is added without a norm.
    Before,
    /// The sum of the part's input and output.
    After,
}

/// A linear layer's parameters: a row of weights for each output.
#[derive(Debug)]
pub(super) struct Linear {
    /// Weights, row by row.
    pub weight: Vec<f32>,
    /// Biases, one for each output.
    pub bias: Vec<f32>,
}

/// A layer normalisation's parameters.
#[derive(Debug)]
pub(super) struct Norm {
    /// Factor of each number.
    pub weight: Vec<f32>,
    /// Bias of each number.
    pub bias: Vec<f32>,
}

/// A layer's parameters.
#[derive(Debug)]
pub(super) struct LayerWeights {
    /// Queries, keys and values.
    pub attention: [Linear; 3],
    /// The layer after attention.
    pub output: Linear,
    /// Norm of attention; the first layer of a network may have none.
    pub attention_norm: Option<Norm>,
    /// First half of the feed-forward part, followed by the activation.
    pub up: Linear,
    /// Gate that multiplies the first half (Shazeer 2020).
    pub gate: Option<Linear>,
    /// Second half of the feed-forward part.
    pub down: Linear,
    /// Norm of the feed-forward part.
    pub feed_forward_norm: Norm,
}

/// The parameters of the embedding layer and of the norm after the last layer.
#[derive(Debug)]
pub(super) struct Embeddings {
    /// A row of `hidden` numbers for each token id.
    pub words: Vec<f32>,
    /// A row for each position, if positions are learned.
    pub positions: Option<Vec<f32>>,
    /// Vector that is added to every token.
    pub every: Option<Vec<f32>>,
    /// Vector that is added to tokens of a second text instead, if the network distinguishes it from the first.
    pub second: Option<Vec<f32>>,
    /// Norm of their sum.
    pub norm: Norm,
    /// For each head, the biases of scores by distance, if there are any.
    pub distances: Vec<Distances>,
    /// Norm after the last layer.
    pub last_norm: Option<Norm>,
}

/// A network ready to run.
#[derive(Debug)]
pub(super) struct Encoder {
    kernel: Kernel,
    shape: Shape,
    words: Vec<f32>,
    positions: Option<Vec<f32>>,
    every: Option<Vec<f32>>,
    /// Difference between the vectors added to tokens of a second text and to those of a first.
    second: Option<Vec<f32>>,
    norm: Scales,
    context: Context,
    layers: Vec<EncoderLayer>,
    last_norm: Option<Scales>,
}

/// Data shared by all layers: how positions in a text enter attention.
#[derive(Debug)]
struct Context {
    rotations: Vec<Rotation>,
    distances: Vec<Distances>,
}

/// A norm's weights and biases, padded.
pub(super) type Scales = [Floats; 2];

#[derive(Debug)]
struct EncoderLayer {
    inputs: [Input; 4],
    sight: Sight,
    /// Groups of a few heads: their number, and the weights of their queries, keys and values side by side.
    groups: Vec<(usize, Matrix)>,
    output: Matrix,
    attention_norm: Option<Scales>,
    up: Matrix,
    gate: Option<Matrix>,
    down: Matrix,
    feed_forward_norm: Scales,
}

/// Places in a layer where linear layers read intermediate states, which may be stored in fewer bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Site {
    Attention,
    Output,
    Up,
    Down,
}

/// The tokens of each text whose hidden states are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateSelection {
    All,
    /// The first one, which a model with CLS pooling reads. The last layer then computes little else.
    First,
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    hidden: Floats,
    normed: Floats,
    heads: Floats,
    context: Floats,
    wide: Floats,
    operand: Operand,
    block: Operand,
    scratch: Scratch,
}

impl Encoder {
    /// Prepares a network. Weights are read one layer at a time, so few of them are in memory twice.
    ///
    /// In [`Precision::Int8`], each layer first runs on `samples` in floats, to find which of its numbers are too
    /// large for bytes.
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
        let Embeddings { words, mut positions, mut every, mut second, norm, distances, last_norm } = embeddings;
        if let (Some(second), Some(every)) = (&mut second, &every) {
            second.iter_mut().zip(every).for_each(|(x, y)| *x -= y);
        }
        if let Some(positions) = &mut positions
            && let Some(every) = every.take()
        {
            for row in positions.chunks_exact_mut(shape.hidden) {
                row.iter_mut().zip(&every).for_each(|(x, y)| *x += y);
            }
        }
        let rotations = shape.rotations.iter().map(|&base| Rotation::new(shape.head(), shape.longest, base));
        let mut encoder = Self {
            kernel,
            words,
            positions,
            every,
            second,
            norm: padded(&norm),
            context: Context { rotations: rotations.collect(), distances },
            layers: Vec::new(),
            last_norm: last_norm.as_ref().map(padded),
            shape,
        };
        let mut workspace = Workspace::default();
        let mut states = Floats::default();
        let observing = kernel.precision() == Precision::Int8;
        if observing {
            let len = encoder.floats(samples);
            states.grow(len);
            encoder.embed(samples, &[], &mut states[..len]);
        }
        for index in 0..encoder.shape.layers.len() {
            let weights = layer(index)?;
            let Self { shape, context, .. } = &encoder;
            let sight = shape.layers[index];
            let mut inputs = shape.inputs().map(Input::unknown);
            if observing {
                let floats = EncoderLayer::new(&kernel.floats(), shape, sight, inputs, &weights);
                let len = encoder.floats(samples);
                let job = Job { kernel: &kernel.floats(), shape, context, texts: samples };
                inputs = floats.observe(&job, kernel.largest_block(), &mut states[..len], &mut workspace);
            }
            let layer = EncoderLayer::new(&kernel, shape, sight, inputs, &weights);
            encoder.layers.push(layer);
        }
        Ok(encoder)
    }

    /// Returns why the network cannot process a text, or `None` if it can.
    pub(super) fn refuses(&self, ids: &[u32]) -> Option<String> {
        let vocabulary = self.words.len() / self.shape.hidden;
        let longest = self.shape.longest;
        match ids.iter().find(|&&id| id as usize >= vocabulary) {
            Some(id) => {
                Some(format!("token {id} is not among the {} of the weights", value::count(vocabulary, "token")))
            }
            None if ids.len() > longest => Some(format!("{} tokens are more than the model's {longest}", ids.len())),
            None if ids.is_empty() => Some("a text has no tokens".to_owned()),
            None => None,
        }
    }

    /// Returns the vectors of all tokens, `hidden` numbers each.
    pub(super) fn words(&self) -> &[f32] {
        &self.words
    }

    /// Returns the epsilon that is added to variances.
    pub(super) fn epsilon(&self) -> f32 {
        self.shape.epsilon
    }

    /// Returns the number of floats from one token's hidden state to the next.
    pub(super) fn stride(&self) -> usize {
        self.shape.width()
    }

    /// Computes the hidden states of the wanted tokens of some texts, one after another, [`Self::stride`] floats each.
    /// `seconds` says at which token of each text a second text begins; texts without an entry have none.
    ///
    /// # Panics
    /// If [`Self::refuses`] returns a reason for one of the texts.
    pub(super) fn forward<'w>(
        &self,
        texts: &[&[u32]],
        seconds: &[usize],
        wanted: StateSelection,
        workspace: &'w mut Workspace,
    ) -> &'w [f32] {
        let len = self.floats(texts);
        let mut hidden = std::mem::take(&mut workspace.hidden);
        hidden.grow(len);
        self.embed(texts, seconds, &mut hidden[..len]);
        let job = Job { kernel: &self.kernel, shape: &self.shape, context: &self.context, texts };
        let mut states = &mut hidden[..len];
        for (index, layer) in self.layers.iter().enumerate() {
            let wanted = if index + 1 == self.layers.len() { wanted } else { StateSelection::All };
            states = layer.run(&job, states, wanted, workspace, &mut |_, _| ());
        }
        if let Some(norm) = &self.last_norm {
            job.normalize(states, norm);
        }
        let len = states.len();
        workspace.hidden = hidden;
        &workspace.hidden[..len]
    }

    /// Returns the number of floats in the hidden states of some texts.
    fn floats(&self, texts: &[&[u32]]) -> usize {
        texts.iter().map(|ids| ids.len()).sum::<usize>() * self.shape.width()
    }

    /// Writes the input of the first layer.
    fn embed(&self, texts: &[&[u32]], seconds: &[usize], hidden: &mut [f32]) {
        let size = self.shape.hidden;
        let mut rows = hidden.chunks_exact_mut(self.shape.width());
        let seconds = seconds.iter().copied().chain(std::iter::repeat(usize::MAX));
        for (ids, second) in texts.iter().zip(seconds) {
            let mut next = self.shape.first_position;
            for (at, &id) in ids.iter().enumerate() {
                let Some(row) = rows.next() else { return };
                let is_padding = id as usize + 1 == self.shape.first_position;
                let position = if is_padding { id as usize } else { next };
                next += usize::from(!is_padding);
                row[..size].copy_from_slice(&self.words[id as usize * size..][..size]);
                let place = self.positions.as_ref().map(|positions| &positions[position * size..][..size]);
                let kind = self.second.as_deref().filter(|_| at >= second);
                for more in place.into_iter().chain(self.every.as_deref()).chain(kind) {
                    row.iter_mut().zip(more).for_each(|(x, more)| *x += more);
                }
                row[size..].fill(0.0);
            }
        }
        let [weight, bias] = &self.norm;
        self.kernel.layer_norm(hidden, size, weight, bias, self.shape.epsilon);
    }
}

impl Shape {
    /// Returns the width of a hidden state, padded.
    fn width(&self) -> usize {
        self.hidden.next_multiple_of(PAD)
    }

    /// Returns the width of a head.
    fn head(&self) -> usize {
        self.hidden / self.heads
    }

    /// Returns the width of a head, padded.
    fn head_width(&self) -> usize {
        self.head().next_multiple_of(16)
    }

    /// Returns the widths of the inputs of a layer's four sites.
    fn inputs(&self) -> [usize; 4] {
        [self.hidden, self.heads * self.head_width(), self.hidden, self.intermediate]
    }
}

/// Pads the parameters of a norm.
pub(super) fn padded(norm: &Norm) -> Scales {
    [&norm.weight, &norm.bias].map(|values| {
        let mut floats = Floats::new(values.len().next_multiple_of(PAD));
        floats[..values.len()].copy_from_slice(values);
        floats
    })
}

/// The data that all layers of a run share.
struct Job<'a> {
    kernel: &'a Kernel,
    shape: &'a Shape,
    context: &'a Context,
    texts: &'a [&'a [u32]],
}

impl Job<'_> {
    /// Moves the row of each text's first token to the front, and returns the number of these rows.
    fn keep_first(&self, rows: &mut [f32], width: usize) -> usize {
        let mut at = 0;
        for (to, ids) in self.texts.iter().enumerate() {
            rows.copy_within(at * width..(at + 1) * width, to * width);
            at += ids.len();
        }
        self.texts.len()
    }

    fn normalize(&self, rows: &mut [f32], [weight, bias]: &Scales) {
        self.kernel.layer_norm(rows, self.shape.hidden, weight, bias, self.shape.epsilon);
    }
}

impl EncoderLayer {
    fn new(kernel: &Kernel, shape: &Shape, sight: Sight, inputs: [Input; 4], weights: &LayerWeights) -> Self {
        let (real, head) = (shape.head(), shape.head_width());
        // The smallest number of heads whose queries, keys and values fill whole panels.
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
            attention_norm: weights.attention_norm.as_ref().map(padded),
            up: kernel.matrix(&weights.up.weight, &weights.up.bias, &inputs[2]),
            gate: weights.gate.as_ref().map(|gate| kernel.matrix(&gate.weight, &gate.bias, &inputs[2])),
            down: kernel.matrix(&weights.down.weight, &weights.down.bias, &inputs[3]),
            feed_forward_norm: padded(&weights.feed_forward_norm),
            inputs,
            sight,
        }
    }

    /// Runs the layer on the hidden states of some texts, in place, and returns those of the wanted tokens. `watch` is
    /// called with the input of each site.
    fn run<'h>(
        &self,
        job: &Job<'_>,
        hidden: &'h mut [f32],
        wanted: StateSelection,
        workspace: &mut Workspace,
        watch: &mut impl FnMut(Site, &[f32]),
    ) -> &'h mut [f32] {
        let Job { kernel, shape, .. } = job;
        let Workspace { normed, context, wide, operand, block, .. } = workspace;
        let width = shape.width();
        let tokens = hidden.len() / width;
        match &self.attention_norm {
            Some(norm) if shape.norms == Norms::Before => {
                normed.grow(hidden.len());
                let normed = &mut normed[..hidden.len()];
                normed.copy_from_slice(hidden);
                job.normalize(normed, norm);
                watch(Site::Attention, normed);
                kernel.hold(normed, width, tokens, &self.inputs[0], operand);
            }
            _ => {
                watch(Site::Attention, hidden);
                kernel.hold(hidden, width, tokens, &self.inputs[0], operand);
            }
        }
        let context_width = (shape.heads * shape.head_width()).next_multiple_of(PAD);
        context.grow(tokens * context_width);
        self.attend(job, operand, wanted, &mut workspace.heads, context, &mut workspace.scratch);
        let hidden = match wanted {
            StateSelection::All => hidden,
            StateSelection::First => {
                job.keep_first(context, context_width);
                let count = job.keep_first(hidden, width);
                &mut hidden[..count * width]
            }
        };
        let wide_width = shape.intermediate.next_multiple_of(PAD);
        let together = kernel.rows();
        wide.grow(together * wide_width);
        normed.grow(together * width);
        for (rows, context) in hidden.chunks_mut(together * width).zip(context.chunks_mut(together * context_width)) {
            let count = rows.len() / width;
            watch(Site::Output, &context[..count * context_width]);
            kernel.hold(context, context_width, count, &self.inputs[1], block);
            kernel.multiply(block, &self.output, Then::Add, rows);
            let read = match shape.norms {
                Norms::Before => {
                    let normed = &mut normed[..rows.len()];
                    normed.copy_from_slice(rows);
                    job.normalize(normed, &self.feed_forward_norm);
                    normed
                }
                Norms::After => {
                    if let Some(norm) = &self.attention_norm {
                        job.normalize(rows, norm);
                    }
                    &mut *rows
                }
            };
            watch(Site::Up, read);
            kernel.hold(read, width, count, &self.inputs[2], block);
            kernel.multiply(block, &self.up, shape.activation, wide);
            if let Some(gate) = &self.gate {
                kernel.multiply(block, gate, Then::Times, wide);
            }
            watch(Site::Down, &wide[..count * wide_width]);
            kernel.hold(wide, wide_width, count, &self.inputs[3], block);
            kernel.multiply(block, &self.down, Then::Add, rows);
            if shape.norms == Norms::After {
                job.normalize(rows, &self.feed_forward_norm);
            }
        }
        hidden
    }

    /// Computes the attention of each text over itself, for all heads. `heads` is the buffer for the queries, keys
    /// and values of one group of heads at a time.
    fn attend(
        &self,
        job: &Job<'_>,
        operand: &Operand,
        wanted: StateSelection,
        heads: &mut Floats,
        context: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let Job { kernel, shape, texts, .. } = job;
        let head = shape.head_width();
        let context_width = (shape.heads * head).next_multiple_of(PAD);
        let tokens: usize = texts.iter().map(|ids| ids.len()).sum();
        #[expect(clippy::cast_precision_loss, reason = "a head is far narrower than 2^24")]
        let scale = 1.0 / (shape.head() as f32).sqrt();
        let rotation = self.sight.rotation.map(|index| &job.context.rotations[index]);
        let mut first_head = 0;
        for (count, matrix) in &self.groups {
            let stride = (3 * count * head).next_multiple_of(PAD);
            heads.grow(tokens * stride);
            kernel.multiply(operand, matrix, Then::Store, heads);
            let mut first = 0;
            for ids in *texts {
                let rows = &mut heads[first * stride..][..ids.len() * stride];
                if let Some(rotation) = rotation {
                    kernel.rotate(rows, stride, 2 * count, head, rotation);
                }
                for index in 0..*count {
                    let at = |part: usize| &rows[(part * count + index) * head..];
                    let mut of = Attention::new([at(0), at(1), at(2)], stride, ids.len(), head, scale);
                    if let Some(reach) = self.sight.reach {
                        of = of.within(reach);
                    }
                    if let Some(distances) = job.context.distances.get(first_head + index) {
                        of = of.biased(distances);
                    }
                    if wanted == StateSelection::First {
                        of = of.of_first();
                    }
                    let to = first * context_width + (first_head + index) * head;
                    kernel.attend(of, &mut context[to..], context_width, scratch);
                }
                first += ids.len();
            }
            first_head += count;
        }
    }

    /// Runs the layer and returns what it observed about its inputs.
    fn observe(&self, job: &Job<'_>, block: usize, states: &mut [f32], workspace: &mut Workspace) -> [Input; 4] {
        let mut sizes = job.shape.inputs().map(|width| vec![0.0_f32; width]);
        self.run(job, states, StateSelection::All, workspace, &mut |site, rows| {
            let sizes = &mut sizes[site as usize];
            for row in rows.chunks_exact(sizes.len().next_multiple_of(PAD)) {
                sizes.iter_mut().zip(row).for_each(|(size, x)| *size = size.max(x.abs()));
            }
        });
        let floor = if self.gate.is_some() { None } else { job.shape.activation.floor() };
        let [attention, output, up, down] = sizes;
        [
            Input::observed(&attention, None, block),
            Input::observed(&output, None, block),
            Input::observed(&up, None, block),
            Input::observed(&down, floor, block),
        ]
    }
}

/// Returns the weights that multiply the heads' results, with zeros where heads are padded.
fn spread(shape: &Shape, weight: &[f32]) -> Vec<f32> {
    let (real, head) = (shape.head(), shape.head_width());
    let parts = weight.chunks_exact(real);
    parts.flat_map(|part| part.iter().copied().chain(std::iter::repeat_n(0.0, head - real))).collect()
}
