//! Encoders of the BERT family (Devlin et al. 2018) and what came of it, for batch work: texts are packed one after
//! another without padding, and every buffer is used again for the next group. [`Shape`] says what a network's
//! blocks do; there is no code for one network alone.
//!
//! Of a layer, attention goes head by head and the rest a block of rows at a time, so that what is
//! being worked on stays in a core's own cache. A row's result depends on its text alone: sums are taken in the same
//! order wherever the row lies.

use super::kernel::{
    Attention, Distances, Floats, Input, Kernel, Matrix, Operand, PAD, Precision, Rotation, Scratch, Then,
};

/// The shape of a network.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// Width of hidden states.
    pub hidden: usize,
    /// Heads of attention; they divide `hidden`.
    pub heads: usize,
    /// Width between the two linear layers of the feed-forward part.
    pub intermediate: usize,
    /// Layers, and how far each looks.
    pub layers: Vec<Sight>,
    /// Added to variances.
    pub epsilon: f32,
    /// Position of a text's first token, where positions are learned. Where it is not 0 it follows the id of padding: a
    /// token of that id in a text, say of one about padding, lies at the position of its id and is not counted.
    pub first_position: usize,
    /// Bases of the angles by which queries and keys are turned, if they are.
    pub rotations: Vec<f64>,
    /// What the feed-forward part's first half is followed by.
    pub activation: Then,
    /// Where a part of a layer is normalised.
    pub norms: Norms,
    /// Most tokens of a text.
    pub longest: usize,
}

/// What of a text a layer's attention knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sight {
    /// How many tokens away a token looks, to each side, if it does not see all.
    pub reach: Option<usize>,
    /// Which of [`Shape::rotations`] turns its queries and keys, if one does.
    pub rotation: Option<usize>,
}

/// Where the two parts of a layer are normalised (Xiong et al. 2020).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Norms {
    /// What is read before, and what the part gives is added as it is.
    Before,
    /// The sum.
    After,
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
    /// Of attention; there may be none before a network's first.
    pub attention_norm: Option<Norm>,
    /// The feed-forward part's first half, which is activated.
    pub up: Linear,
    /// What that is multiplied by (Shazeer 2020).
    pub gate: Option<Linear>,
    /// Its second half.
    pub down: Linear,
    /// Of the feed-forward part.
    pub feed_forward_norm: Norm,
}

/// The parameters of the embedding layer, and of what follows the last.
#[derive(Debug)]
pub(super) struct Embeddings {
    /// A row of `hidden` for each token id.
    pub words: Vec<f32>,
    /// A row for each position, if they are learned.
    pub positions: Option<Vec<f32>>,
    /// What every token gets besides.
    pub every: Option<Vec<f32>>,
    /// What a token of a second text gets instead, if the network tells it from the first.
    pub second: Option<Vec<f32>>,
    /// After their sum.
    pub norm: Norm,
    /// For each head what the distance of a key adds to its score, if it counts.
    pub distances: Vec<Distances>,
    /// After the last layer.
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
    /// What tokens of a second text get more than others.
    second: Option<Vec<f32>>,
    norm: Scales,
    context: Context,
    layers: Vec<Layer>,
    last_norm: Option<Scales>,
}

/// What layers share: how places in a text enter attention.
#[derive(Debug)]
struct Context {
    rotations: Vec<Rotation>,
    distances: Vec<Distances>,
}

/// A norm's weights and biases, padded.
type Scales = [Floats; 2];

#[derive(Debug)]
struct Layer {
    inputs: [Input; 4],
    sight: Sight,
    /// For each few heads, their queries, keys and values side by side.
    groups: Vec<(usize, Matrix)>,
    output: Matrix,
    attention_norm: Option<Scales>,
    up: Matrix,
    gate: Option<Matrix>,
    down: Matrix,
    feed_forward_norm: Scales,
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
    normed: Floats,
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
                let floats = Layer::new(&kernel.floats(), shape, sight, inputs, &weights);
                let len = encoder.floats(samples);
                let job = Job { kernel: &kernel.floats(), shape, context, texts: samples };
                inputs = floats.observe(&job, &mut states[..len], &mut workspace);
            }
            let layer = Layer::new(&kernel, shape, sight, inputs, &weights);
            encoder.layers.push(layer);
        }
        Ok(encoder)
    }

    /// What of a text the network has no parameters for, if anything.
    #[must_use]
    pub(super) fn refuses(&self, ids: &[u32]) -> Option<String> {
        let vocabulary = self.words.len() / self.shape.hidden;
        let longest = self.shape.longest;
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

    /// The hidden states of all tokens of some texts, one after another, [`Self::stride`] floats each. `seconds` says
    /// where in each a second text begins; where it says nothing, there is none.
    ///
    /// # Panics
    /// If a text is one that [`Self::refuses`].
    pub(super) fn forward<'w>(&self, texts: &[&[u32]], seconds: &[usize], workspace: &'w mut Workspace) -> &'w [f32] {
        let len = self.floats(texts);
        let mut hidden = std::mem::take(&mut workspace.hidden);
        hidden.grow(len);
        let states = &mut hidden[..len];
        self.embed(texts, seconds, states);
        let job = Job { kernel: &self.kernel, shape: &self.shape, context: &self.context, texts };
        for layer in &self.layers {
            layer.run(&job, states, workspace, &mut |_, _| ());
        }
        if let Some(norm) = &self.last_norm {
            job.normalize(states, norm);
        }
        workspace.hidden = hidden;
        &workspace.hidden[..len]
    }

    /// Floats of the hidden states of some texts.
    fn floats(&self, texts: &[&[u32]]) -> usize {
        texts.iter().map(|ids| ids.len()).sum::<usize>() * self.shape.width()
    }

    /// What the first layer reads.
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

fn padded(norm: &Norm) -> Scales {
    [&norm.weight, &norm.bias].map(|values| {
        let mut floats = Floats::new(values.len().next_multiple_of(PAD));
        floats[..values.len()].copy_from_slice(values);
        floats
    })
}

/// What a layer is run for.
struct Job<'a> {
    kernel: &'a Kernel,
    shape: &'a Shape,
    context: &'a Context,
    texts: &'a [&'a [u32]],
}

impl Job<'_> {
    fn normalize(&self, rows: &mut [f32], [weight, bias]: &Scales) {
        self.kernel.layer_norm(rows, self.shape.hidden, weight, bias, self.shape.epsilon);
    }
}

impl Layer {
    fn new(kernel: &Kernel, shape: &Shape, sight: Sight, inputs: [Input; 4], weights: &LayerWeights) -> Self {
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
            attention_norm: weights.attention_norm.as_ref().map(padded),
            up: kernel.matrix(&weights.up.weight, &weights.up.bias, &inputs[2]),
            gate: weights.gate.as_ref().map(|gate| kernel.matrix(&gate.weight, &gate.bias, &inputs[2])),
            down: kernel.matrix(&weights.down.weight, &weights.down.bias, &inputs[3]),
            feed_forward_norm: padded(&weights.feed_forward_norm),
            inputs,
            sight,
        }
    }

    /// Runs the layer on the hidden states of some texts, in place. `watch` sees what each site reads.
    fn run(&self, job: &Job<'_>, hidden: &mut [f32], workspace: &mut Workspace, watch: &mut impl FnMut(Site, &[f32])) {
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
        self.attend(job, operand, &mut workspace.heads, context, &mut workspace.scratch);
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
    }

    /// Attention of each text over itself, for all heads; of each few heads at a time, queries, keys and values lie in
    /// `heads`.
    fn attend(&self, job: &Job<'_>, operand: &Operand, heads: &mut Floats, context: &mut [f32], scratch: &mut Scratch) {
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
                    let to = first * context_width + (first_head + index) * head;
                    kernel.attend(of, &mut context[to..], context_width, scratch);
                }
                first += ids.len();
            }
            first_head += count;
        }
    }

    /// Runs the layer and returns what is to be known of its inputs.
    fn observe(&self, job: &Job<'_>, states: &mut [f32], workspace: &mut Workspace) -> [Input; 4] {
        let mut sizes = job.shape.inputs().map(|width| vec![0.0_f32; width]);
        self.run(job, states, workspace, &mut |site, rows| {
            let sizes = &mut sizes[site as usize];
            for row in rows.chunks_exact(sizes.len().next_multiple_of(PAD)) {
                sizes.iter_mut().zip(row).for_each(|(size, x)| *size = size.max(x.abs()));
            }
        });
        let floor = if self.gate.is_some() { None } else { job.shape.activation.floor() };
        let [attention, output, up, down] = sizes;
        [
            Input::observed(&attention, None),
            Input::observed(&output, None),
            Input::observed(&up, None),
            Input::observed(&down, floor),
        ]
    }
}

/// The weights that read the heads' results, with zeros where heads are padded.
fn spread(shape: &Shape, weight: &[f32]) -> Vec<f32> {
    let (real, head) = (shape.head(), shape.head_width());
    let parts = weight.chunks_exact(real);
    parts.flat_map(|part| part.iter().copied().chain(std::iter::repeat_n(0.0, head - real))).collect()
}
