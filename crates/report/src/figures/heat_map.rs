//! Metrics by generators as coloured cells with their numbers: ROC-AUC (the paper's figures 2 and 3) and the
//! correlation with the labels (6 and 7).

use super::{
    canvas::{Canvas, PLAIN, ink_on},
    colour_bar,
    picture::{missing, picture},
    subtitle,
    theme::{BODY, Diverging, SMALL, Tone},
    type_setting::{Weight, fitted_names, width},
};
use crate::{
    describe,
    names::short,
    pictures::{MissingPicture, Picture},
    predictors::{metrics, scorer},
};
use veridiff_core::families::catalogue::CATALOGUE;
use veridiff_detector::{Direction, Evaluation, Figure, PredictorEvaluation, PredictorKind};

/// A heat map's content.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    /// Names of the columns; the first is set apart.
    pub columns: Vec<String>,
    /// Rows that belong together.
    pub bands: Vec<Band>,
    /// The colours of the values.
    pub scale: Diverging,
    /// What the colours mean, under their bar.
    pub legend: String,
    /// Whether numbers under the colour bar have signs.
    pub signed: bool,
}

/// Rows under one head.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// What they have in common; may be empty.
    pub name: String,
    /// The rows, in order.
    pub rows: Vec<MapRow>,
}

/// One row of a heat map.
#[derive(Debug, Clone, PartialEq)]
pub struct MapRow {
    /// What the row is called.
    pub name: String,
    /// A sign beside the name; may be empty.
    pub sign: String,
    /// Its cells, one for each column.
    pub cells: Vec<MapCell>,
}

/// One cell of a heat map.
#[derive(Debug, Clone, PartialEq)]
pub struct MapCell {
    /// The value that gives its colour; none makes it blank.
    pub value: Option<f64>,
    /// What is printed in it.
    pub text: String,
    /// What a pointer over it shows.
    pub hint: String,
}

const ROW_HEIGHT: f64 = 21.0;
const BAND_HEAD: f64 = 22.0;
/// Between bands without heads.
const BAND_GAP: f64 = 6.0;
/// The room beside the first column, which is set apart.
const COLUMN_GAP: f64 = 6.0;
/// The widest that names of rows and of columns may be.
const MOST_ROW_NAME: f64 = 270.0;
const MOST_COLUMN_NAME: f64 = 170.0;
const SIGN_WIDTH: f64 = 16.0;

/// Draws it: the columns' names slanted where they are too wide for their columns, then band by band, then the colour bar.
pub fn draw(map: &HeatMap) -> Canvas {
    let layout = Layout::new(map);
    let width = layout.right.max(layout.left + colour_bar::width(&map.legend));
    let mut canvas = Canvas::new(width, layout.height());
    layout.draw_heads(&mut canvas);
    let mut y = layout.head_height;
    let mut names = layout.names.iter();
    for (index, band) in map.bands.iter().enumerate() {
        y += layout.gap(index);
        if !band.name.is_empty() {
            canvas.text(0.0, y - 7.0, &band.name, PLAIN.small().bold().tone(Tone::Muted));
        }
        for row in &band.rows {
            layout.draw_row(&mut canvas, row, names.next().map_or("", String::as_str), y);
            y += ROW_HEIGHT;
        }
    }
    let number = |value: f64| if map.signed && value != 0.0 { format!("{value:+.2}") } else { format!("{value:.2}") };
    colour_bar::draw(&mut canvas, map.scale, map.scale.ends(), (layout.left, y + 14.0), number, &map.legend);
    canvas
}

/// Where everything of a heat map stands, in pixels.
struct Layout<'a> {
    map: &'a HeatMap,
    /// The rows' names as they fit.
    names: Vec<String>,
    /// The width of the widest of them.
    name_width: f64,
    /// Where the cells begin.
    left: f64,
    cell_width: f64,
    /// The columns' names as they fit.
    heads: Vec<String>,
    /// Whether these stand upright over their columns; if not, they are slanted.
    upright: bool,
    /// How high the columns' names are together.
    head_height: f64,
    /// Where cells and columns' names end.
    right: f64,
}

impl<'a> Layout<'a> {
    fn new(map: &'a HeatMap) -> Self {
        let rows: Vec<&MapRow> = map.bands.iter().flat_map(|band| &band.rows).collect();
        let names = fitted_names(rows.iter().map(|row| row.name.as_str()), BODY, MOST_ROW_NAME);
        let name_width = names.iter().map(|name| width(name, BODY, Weight::Regular)).fold(0.0, f64::max);
        let sign_width = if rows.iter().any(|row| !row.sign.is_empty()) { SIGN_WIDTH } else { 0.0 };
        let left = name_width + 8.0 + sign_width;

        let numbers = rows.iter().flat_map(|row| &row.cells).map(|cell| width(&cell.text, SMALL, Weight::Regular));
        let least = numbers.fold(0.0, f64::max) + 8.0;
        let cell_width = if map.columns.len() <= 8 { f64::max(least, 58.0) } else { f64::max(least, 38.0) };
        let heads = fitted_names(map.columns.iter().map(String::as_str), BODY, MOST_COLUMN_NAME);
        let head_widths: Vec<f64> = heads.iter().map(|head| width(head, BODY, Weight::Regular)).collect();
        let upright = head_widths.iter().all(|width| *width <= cell_width - 4.0);
        let mut layout =
            Layout { map, names, name_width, left, cell_width, heads, upright, head_height: BODY + 8.0, right: 0.0 };
        layout.right = layout.column_x(map.columns.len().max(1) - 1) + cell_width;
        if !upright {
            let slant = std::f64::consts::FRAC_1_SQRT_2;
            let reach =
                |(column, width): (usize, &f64)| layout.column_x(column) + cell_width / 2.0 + (width + BODY) * slant;
            let right = head_widths.iter().enumerate().map(reach).fold(layout.right, f64::max);
            layout.right = right;
            layout.head_height = head_widths.iter().copied().fold(0.0, f64::max) * slant + BODY + 4.0;
        }
        layout
    }

    /// Where a column begins.
    fn column_x(&self, column: usize) -> f64 {
        self.left + column as f64 * self.cell_width + if column > 0 { COLUMN_GAP } else { 0.0 }
    }

    /// The room above a band, where its head stands if it has one.
    fn gap(&self, index: usize) -> f64 {
        let headed = self.map.bands.iter().any(|band| !band.name.is_empty());
        // the first head stands beside the columns' names if it is short enough
        let first_head = self.map.bands.first().map_or(0.0, |band| width(&band.name, SMALL, Weight::Bold));
        match (index, headed) {
            (0, true) if first_head <= self.left => 0.0,
            (_, true) => BAND_HEAD,
            (0, false) => 0.0,
            (_, false) => BAND_GAP,
        }
    }

    /// The height of the whole map, the colour bar under it too.
    fn height(&self) -> f64 {
        let bands = self.map.bands.iter().enumerate();
        self.head_height
            + bands.map(|(i, band)| self.gap(i) + band.rows.len() as f64 * ROW_HEIGHT).sum::<f64>()
            + (14.0 + colour_bar::HEIGHT)
    }

    fn draw_heads(&self, canvas: &mut Canvas) {
        for (column, head) in self.heads.iter().enumerate() {
            let middle = self.column_x(column) + self.cell_width / 2.0;
            let full = &self.map.columns[column];
            if self.upright {
                canvas.label(middle, self.head_height - 10.0, head, full, PLAIN.middle());
            } else {
                canvas.label(middle + 2.0, self.head_height - 6.0, head, full, PLAIN.turned(-45.0));
            }
        }
    }

    /// Draws a row, whose name is shown as `name`, with its upper edge at `y`.
    fn draw_row(&self, canvas: &mut Canvas, row: &MapRow, name: &str, y: f64) {
        let middle = y + ROW_HEIGHT / 2.0;
        canvas.label(self.name_width, middle, name, &row.name, PLAIN.end());
        if !row.sign.is_empty() {
            let x = self.name_width + 4.0 + SIGN_WIDTH / 2.0;
            canvas.text_at_middle(x, middle, &row.sign, PLAIN.middle().tone(Tone::Muted));
        }
        for (column, cell) in row.cells.iter().enumerate() {
            draw_cell(canvas, self.map.scale, cell, [self.column_x(column), y, self.cell_width, ROW_HEIGHT]);
        }
    }
}

fn draw_cell(canvas: &mut Canvas, scale: Diverging, cell: &MapCell, [x, y, width, height]: [f64; 4]) {
    // a pixel of ground between cells
    let area = [x, y, width - 1.0, height - 1.0];
    let (tone, ink) = match cell.value {
        Some(value) => {
            let colour = scale.colour(value);
            (Tone::Fixed(colour), ink_on(colour))
        }
        None => (Tone::Blank, Tone::Muted),
    };
    canvas.rectangle(area, tone, &cell.hint);
    canvas.text_at_middle(
        x + (width - 1.0) / 2.0,
        y + (height - 1.0) / 2.0,
        &cell.text,
        PLAIN.small().middle().tone(ink),
    );
}

/// ROC-AUC of every metric and of the combination, over all rows and within each generator.
pub fn auc_by_generator(evaluation: &Evaluation) -> Result<Picture, MissingPicture> {
    let title = "ROC-AUC of each metric by generator";
    let cell = |figure: &Figure, place: &str, name: &str| MapCell {
        value: figure.auc,
        text: figure.auc.map_or_else(|| "–".to_owned(), |auc| format!("{auc:.2}")),
        hint: match (figure.auc, figure.interval) {
            (None, _) => format!("{name}, {place}: one class only (n = {})", figure.n),
            (Some(auc), None) => format!("{name}, {place}: {auc:.3} (n = {})", figure.n),
            (Some(auc), Some(interval)) => {
                format!("{name}, {place}: {auc:.3} [{:.2}, {:.2}] (n = {})", interval.low, interval.high, figure.n)
            }
        },
    };
    let sign = |predictor: &PredictorEvaluation| match predictor.direction {
        Some(Direction::Higher) => "+",
        Some(Direction::Lower) => "−",
        Some(Direction::Mixed) => "±",
        None => "",
    };
    let bands = by_family(evaluation, true, title, |predictor, name| row(predictor, name, sign(predictor), &cell))?;
    let values = bands.iter().flat_map(|band| &band.rows).flat_map(|row| &row.cells).filter_map(|cell| cell.value);
    let scale = Diverging::around(0.5, 0.05, values);
    let map =
        HeatMap { columns: columns(evaluation), bands, scale, legend: "ROC-AUC; 0.50 is chance".into(), signed: false };
    let caption = format!(
        "ROC-AUC of each metric, and of {} over all of them, over all rows and within each generator. {} {} A metric \
         is turned so that it points to hallucinations on the training folds (sign: + higher, − lower, ± the folds \
         disagree), so a value below 0.5 in a column means that it points the other way there. Intervals are \
         in the tables and under the pointer.",
        describe::learner(evaluation.settings.learner),
        describe::sample(evaluation),
        describe::procedure(evaluation),
    );
    let subtitle = subtitle::subtitle(evaluation, scorer(evaluation));
    Ok(picture("auc-by-generator", title, &subtitle, caption, draw(&map)))
}

/// Point-biserial correlation of every metric, as stored, with the labels.
pub fn correlation_by_generator(evaluation: &Evaluation) -> Result<Picture, MissingPicture> {
    let title = "Correlation of each metric with hallucination";
    let cell = |figure: &Figure, place: &str, name: &str| {
        let correlation = figure.correlation;
        let star = correlation.and_then(|c| c.p).is_some_and(|p| p < 0.05);
        MapCell {
            value: correlation.map(|c| c.r),
            text: correlation.map_or_else(|| "–".to_owned(), |c| signed(c.r) + if star { "*" } else { "" }),
            hint: match correlation {
                None => format!("{name}, {place}: metric or label does not vary (n = {})", figure.n),
                Some(c) => {
                    let p = c.p.map_or_else(String::new, |p| format!(", p = {p:.4}"));
                    format!("{name}, {place}: r = {:+.3}{p} (n = {})", c.r, figure.n)
                }
            },
        }
    };
    let bands = by_family(evaluation, false, title, |predictor, name| row(predictor, name, "", &cell))?;
    let values = bands.iter().flat_map(|band| &band.rows).flat_map(|row| &row.cells).filter_map(|cell| cell.value);
    let scale = Diverging::around(0.0, 0.1, values);
    let legend = "r (point-biserial); * p < 0.05".to_owned();
    let map = HeatMap { columns: columns(evaluation), bands, scale, legend, signed: true };
    let caption = format!(
        "Point-biserial correlation between each metric, as stored, and the label (1 is hallucinated): above 0, higher \
         values are more often hallucinated. {} Nothing is trained. * p < 0.05 of no correlation, rows taken for \
         independent and no correction for the number of cells, so about one cell in twenty would be marked by chance.",
        describe::sample(evaluation),
    );
    let subtitle = subtitle::short_sample(evaluation) + &subtitle::scorer(scorer(evaluation));
    Ok(picture("correlation-by-generator", title, &subtitle, caption, draw(&map)))
}

/// A correlation with its sign; none for what rounds to zero.
fn signed(r: f64) -> String {
    match format!("{r:+.2}").as_str() {
        "+0.00" | "-0.00" => "0.00".to_owned(),
        text => text.replace('-', "−"),
    }
}

fn columns(evaluation: &Evaluation) -> Vec<String> {
    ["all".to_owned()].into_iter().chain(evaluation.generators.iter().cloned()).collect()
}

fn row(
    predictor: &PredictorEvaluation,
    name: &str,
    sign: &str,
    cell: &impl Fn(&Figure, &str, &str) -> MapCell,
) -> MapRow {
    let within = predictor.per_generator.iter().map(|g| cell(&g.figure, &g.generator, name));
    let cells = [cell(&predictor.overall, "all", name)].into_iter().chain(within).collect();
    MapRow { name: name.to_owned(), sign: sign.to_owned(), cells }
}

/// The features' rows by family, in the registry's order; then the combination's where it is wanted.
fn by_family(
    evaluation: &Evaluation,
    with_combination: bool,
    title: &str,
    row: impl Fn(&PredictorEvaluation, &str) -> MapRow,
) -> Result<Vec<Band>, MissingPicture> {
    if evaluation.generators.is_empty() {
        return Err(missing(title, "the table names no generators; the AUCs over all rows are in the next figure"));
    }
    let features: Vec<&PredictorEvaluation> = metrics(evaluation).collect();
    if features.is_empty() {
        return Err(missing(title, "a fitted detector is judged here, not single metrics"));
    }
    let scorer = scorer(evaluation);
    let families = CATALOGUE.families().iter().map(Some).chain([None]);
    let mut bands: Vec<Band> = families
        .map(|family| {
            let members = features.iter().filter(|feature| CATALOGUE.family_of(&feature.name) == family);
            Band {
                name: family.map_or("other", |family| family.name).to_owned(),
                rows: members.map(|feature| row(feature, short(&feature.name, scorer))).collect(),
            }
        })
        .filter(|band| !band.rows.is_empty())
        .collect();
    if bands.len() == 1 && !with_combination {
        bands[0].name.clear();
    }
    let combination = evaluation.predictors.iter().find(|predictor| predictor.kind == PredictorKind::Combination);
    if let Some(combination) = combination.filter(|_| with_combination) {
        bands.push(Band { name: "together".into(), rows: vec![row(combination, "combination")] });
    }
    Ok(bands)
}
