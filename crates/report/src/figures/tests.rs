//! Every picture from small data: what is in it, that no text is cut off or covers another, that hostile names stay
//! text.

use ndarray::Array2;
use roxmltree::{Document, Node};

use super::{canvas::Canvas, *};
use crate::{
    figures::{
        heat_map::{Band, HeatMap, MapCell, MapRow},
        theme::Diverging,
        type_setting::{Weight, width},
    },
    pictures::Picture,
    views::pictures,
};
use veridiff_core::{
    analysis::{Analysis, Compare, Joint, Tops, add_analyses, joint_columns, overlap_columns},
    families::catalogue::CATALOGUE,
};
use veridiff_detector::{
    Bootstrap, EvalSettings, Evaluation, Groups, Interval, LabelledRows, Overlap, OverlapMetric, Region, evaluate,
    joint_distribution, standard_sets,
};

const HOSTILE: &str = "</svg><script>alert('x')</script>&\"\u{202e}\u{0}";

/// Rows of `names`, written by `n_generators`; the features know the label, each less than the one before.
fn rows(n: usize, names: &[&str], n_generators: usize) -> LabelledRows {
    // a fixed sequence without a generator of random numbers: the fractional parts of multiples of √2 and √3
    let noise = |i: usize, j: usize| ((i * (j + 1)) as f64 * (2.0f64.sqrt() + j as f64 * 3.0f64.sqrt())).fract();
    let labels: Vec<bool> = (0..n).map(|i| noise(i, 6) < 0.45).collect();
    let kinds = ["input inconsistency", "logic", "intent deviation"];
    let by = vec![
        ("label_type".to_owned(), (0..n).map(|i| labels[i].then(|| kinds[i % 3].to_owned())).collect()),
        ("language".to_owned(), (0..n).map(|i| Some(["py", "js", HOSTILE][i * 5 % 3].to_owned())).collect()),
    ];
    let features = Array2::from_shape_fn((n, names.len()), |(i, j)| {
        noise(i, j) + f64::from(u8::from(labels[i])) * 0.5 / (j + 1) as f64
    });
    let names = names.iter().map(|name| name.to_string()).collect();
    let groups = Groups::new((0..n).map(|i| (i / 2).to_string()).collect());
    LabelledRows {
        generators: (0..n)
            .map(|i| (n_generators > 0).then(|| format!("generator {} {HOSTILE}", i * 7 % n_generators.max(1))))
            .collect(),
        by,
        ..LabelledRows::new(names, features, labels, groups)
    }
}

fn evaluated(rows: &LabelledRows) -> Evaluation {
    let settings = EvalSettings {
        n_folds: 3,
        l2: 1.0,
        learner: veridiff_detector::Learner::Logistic,
        bootstrap: Bootstrap { n_resamples: 20, seed: 0 },
    };
    let mut evaluation = evaluate(rows, settings).unwrap();
    let tops = Tops { columns: overlap_columns(rows), share: 0.25 };
    let mut asked: Vec<Box<dyn Analysis>> =
        vec![Box::new(Compare { sets: standard_sets(&rows.feature_names, &CATALOGUE) }), Box::new(tops)];
    asked.extend(joint_columns(rows).map(|columns| Box::new(Joint { columns }) as Box<dyn Analysis>));
    add_analyses(&mut evaluation, rows, &asked, false).unwrap();
    evaluation
}

const NAMES: [&str; 5] = ["logprob@m", "logprob@other", "attr_source@m", "bleu4", HOSTILE];

fn all_figures(rows: &LabelledRows) -> Vec<Picture> {
    let (sections, _) = pictures(&evaluated(rows), rows);
    sections.into_iter().flat_map(|section| section.pictures).collect()
}

fn named<'a>(figures: &'a [Picture], name: &str) -> &'a Picture {
    figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("no figure {name}"))
}

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| own_text(node)).collect()
}

/// A text element's letters, without those of its `title`.
fn own_text(node: Node<'_, '_>) -> String {
    node.children()
        .filter(|child| child.is_text())
        .filter_map(|child| child.text())
        .collect::<String>()
        .trim()
        .to_owned()
}

/// A line of text as a box in the frame that is turned with it: angle, left, top, right, bottom, and its corners
/// unturned.
struct Placed {
    text: String,
    angle: f64,
    area: [f64; 4],
    corners: [(f64, f64); 4],
}

/// Every line of text of a picture.
fn placed(svg: &str) -> (f64, f64, Vec<Placed>) {
    let document = Document::parse(svg).unwrap();
    let number = |node: Node<'_, '_>, name: &str| node.attribute(name).map_or(0.0, |value| value.parse().unwrap());
    let root = document.root_element();
    let lines = document.descendants().filter(|node| node.has_tag_name("text")).map(|node| {
        let (dx, dy) = node
            .ancestors()
            .filter_map(|ancestor| ancestor.attribute("transform")?.strip_prefix("translate(")?.strip_suffix(')'))
            .map(|pair| pair.split_once(' ').unwrap())
            .map(|(x, y)| (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap()))
            .fold((0.0, 0.0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
        let (x, y, size) = (number(node, "x") + dx, number(node, "y") + dy, number(node, "font-size"));
        let weight = if node.attribute("font-weight").is_some() { Weight::Bold } else { Weight::Regular };
        let text = own_text(node);
        let long = width(&text, size, weight);
        let start = match node.attribute("text-anchor") {
            None => 0.0,
            Some("middle") => -long / 2.0,
            Some("end") => -long,
            other => panic!("{other:?}"),
        };
        let angle = node.attribute("transform").map_or(0.0, |turn| {
            turn.strip_prefix("rotate(").unwrap().split(' ').next().unwrap().parse::<f64>().unwrap()
        });
        // Arial's capitals are 0.716 em high; letters such as g reach 0.21 em below the line
        let along =
            [(start, -0.72 * size), (start + long, -0.72 * size), (start + long, 0.21 * size), (start, 0.21 * size)];
        let (sin, cos) = angle.to_radians().sin_cos();
        let corners = along.map(|(u, v)| (x + u * cos - v * sin, y + u * sin + v * cos));
        let (u, v) = (x * cos + y * sin, y * cos - x * sin);
        let area = [u + start, v - 0.72 * size, u + start + long, v + 0.21 * size];
        Placed { text, angle, area, corners }
    });
    (number(root, "width"), number(root, "height"), lines.collect())
}

#[track_caller]
fn assert_laid_out(figure: &str, svg: &str) {
    let (width, height, lines) = placed(svg);
    for line in &lines {
        let inside = line.corners.iter().all(|&(x, y)| x >= 0.0 && y >= 0.0 && x <= width && y <= height);
        assert!(inside, "{figure}: `{}` leaves the picture of {width} by {height}: {:?}", line.text, line.corners);
    }
    for (i, a) in lines.iter().enumerate() {
        for b in lines[i + 1..].iter().filter(|b| b.angle == a.angle && !b.text.is_empty() && !a.text.is_empty()) {
            // letters may touch; a pixel of overlap is none that is seen
            let apart = a.area[2] < b.area[0] + 1.0
                || b.area[2] < a.area[0] + 1.0
                || a.area[3] < b.area[1] + 1.0
                || b.area[3] < a.area[1] + 1.0;
            assert!(apart, "{figure}: `{}` {:?} covers `{}` {:?}", a.text, a.area, b.text, b.area);
        }
    }
}

#[test]
fn every_figure_is_there_and_hostile_names_stay_text() {
    let rows = rows(90, &NAMES, 3);
    let figures = all_figures(&rows);
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    let want = [
        "auc-intervals",
        "auc-by-generator",
        "correlation-by-generator",
        "roc",
        "calibration",
        "overlap",
        "joint",
        "by-label_type",
        "by-language",
    ];
    assert_eq!(names, want);
    for figure in &figures {
        let document = Document::parse(&figure.svg).unwrap_or_else(|e| panic!("{}: {e}", figure.name));
        assert!(document.descendants().all(|node| !node.has_tag_name("script")), "{}", figure.name);
        assert!(!figure.svg.contains(['\u{202e}', '\u{0}']) && !figure.svg.contains("<script"), "{}", figure.name);
        assert!(!figure.svg.contains(" id=\""), "{}: pictures of one page may not share an id", figure.name);
        assert!(figure.caption.contains("n = 90 rows"), "{}", figure.caption);
        assert_laid_out(&figure.name, &figure.svg);
    }
    let shown = "</svg><script>alert('x')</script>&\"\\u{202e}\\u{0}";
    assert!(texts(&named(&figures, "auc-intervals").svg).iter().any(|text| text.contains(shown)));
}

#[test]
fn pictures_of_any_size_are_laid_out() {
    let long: Vec<String> =
        (0..26).map(|i| format!("attr_unchanged_diff@a-very-long-scorer-name-{i}-coder-7b-instruct-f32")).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    for (n, names, n_generators) in
        [(400, &long[..], 30), (400, &long[..], 1), (60, &NAMES[..3], 1), (2000, &NAMES[..], 2), (60, &["logit@m"], 12)]
    {
        let rows = rows(n, names, n_generators);
        for figure in all_figures(&rows) {
            assert_laid_out(&format!("{} of {} by {n_generators}", figure.name, names.len()), &figure.svg);
        }
    }
}

#[test]
fn heat_maps_hold_their_cells_in_order() {
    let row = |name: &str, values: [Option<f64>; 3]| MapRow {
        name: name.into(),
        sign: "+".into(),
        cells: values
            .map(|value| MapCell { value, text: value.map_or("–".into(), |v| format!("{v:.2}")), hint: "h".into() })
            .to_vec(),
    };
    let map = HeatMap {
        columns: ["all", "one", "two"].map(str::to_owned).to_vec(),
        bands: vec![
            Band { name: "first".into(), rows: vec![row("a", [Some(0.5), Some(0.75), None])] },
            Band { name: "second".into(), rows: vec![row("b", [Some(0.25), Some(0.6), Some(0.55)])] },
        ],
        scale: Diverging { centre: 0.5, reach: 0.25 },
        legend: "key".into(),
        signed: false,
    };
    let svg = heat_map::draw(&map).finish("Title", "Sub", "Description");
    let texts = texts(&svg);
    let want =
        ["Title", "Sub", "all", "one", "two", "first", "a", "+", "0.50", "0.75", "–", "second", "b", "+", "0.25"];
    assert_eq!(texts[..want.len()], want);
    assert_eq!(texts[want.len()..], ["0.60", "0.55", "0.25", "0.50", "0.75", "key"]);
    let document = Document::parse(&svg).unwrap();
    let cells = document.descendants().filter(|node| node.has_tag_name("rect") && node.has_children());
    let fills: Vec<&str> = cells.filter_map(|cell| cell.attribute("fill")).collect();
    let scale = map.scale;
    let of = |value: f64| scale.colour(value).to_string();
    assert_eq!(fills, [&of(0.5), &of(0.75), "#ececec", &of(0.25), &of(0.6), &of(0.55)]);
}

#[test]
fn curves_end_in_their_corners() {
    let figures = all_figures(&rows(90, &NAMES, 0));
    let svg = &named(&figures, "roc").svg;
    let document = Document::parse(svg).unwrap();
    let paths: Vec<&str> =
        document.descendants().filter(|n| n.has_tag_name("path")).filter_map(|n| n.attribute("d")).collect();
    assert!(paths.len() >= 3, "the combination and some metrics: {}", paths.len());
    for path in paths {
        assert!(path.starts_with("M48 304") && path.ends_with("L348 4"), "{path}");
    }
    let legend = texts(svg);
    assert!(legend.contains(&"combination".to_owned()) && legend.contains(&"chance".to_owned()), "{legend:?}");
}

#[test]
fn circles_say_how_many_rows_are_where() {
    let metric = |feature: &str| OverlapMetric {
        feature: feature.into(),
        direction: veridiff_detector::Direction::Lower,
        n: 20,
        n_positive: 10,
    };
    let region = |metrics: &[usize], n: usize| Region { metrics: metrics.to_vec(), n, n_positive: n / 2 };
    let mut overlap = Overlap {
        share: 0.25,
        n: 100,
        n_positive: 50,
        metrics: ["x", "y", "z"].map(metric).to_vec(),
        regions: vec![
            region(&[0], 10),
            region(&[1], 12),
            region(&[2], 14),
            region(&[0, 1], 2),
            region(&[0, 2], 4),
            region(&[1, 2], 0),
            region(&[0, 1, 2], 6),
        ],
        n_union: 48,
        n_union_positive: 24,
    };
    let svg = overlap::draw(&overlap).finish("Overlap", "", "");
    assert_laid_out("three circles", &svg);
    let got = texts(&svg);
    let want = ["10", "50%", "12", "50%", "14", "50%", "2", "50%", "4", "50%", "0", "", "6", "50%"];
    assert_eq!(got[1..=want.len()], want);
    assert!(got.contains(&"lowest 25%: 20, 50% halluc.".to_owned()), "{got:?}");
    assert!(got.contains(&"in none: 52 rows, 50% hallucinated".to_owned()), "{got:?}");

    overlap.metrics.extend(["v", "w"].map(metric));
    overlap.regions.push(region(&[0, 3, 4], 40));
    let svg = overlap::draw(&overlap).finish("Overlap", "", "");
    assert_laid_out("a matrix", &svg);
    let numbers: Vec<String> = texts(&svg).into_iter().filter(|text| text.parse::<usize>().is_ok()).collect();
    assert_eq!(numbers, ["40", "14", "12", "10", "6", "4", "2"], "most rows first, empty combinations left out");

    overlap.metrics.truncate(2);
    overlap.regions = vec![region(&[0], 3), region(&[1], 5), region(&[0, 1], 7)];
    let svg = overlap::draw(&overlap).finish("Overlap", "", "");
    assert_laid_out("two circles", &svg);
    assert_eq!(texts(&svg).iter().filter(|text| ["3", "5", "7"].contains(&text.as_str())).count(), 3);
}

#[test]
fn few_rows_are_points_and_many_are_squares() {
    let shapes = |n: usize| {
        let rows = rows(n, &NAMES[..2], 0);
        let joint = joint_distribution(&rows, [0, 1], 20);
        let filled =
            joint.negatives.iter().flatten().zip(joint.positives.iter().flatten()).filter(|(a, b)| **a + **b > 0);
        let filled = filled.count();
        let svg = joint::draw(&joint).finish("", "", "");
        let document = Document::parse(&svg).unwrap();
        let count = |tag: &str| document.descendants().filter(|node| node.has_tag_name(tag)).count();
        let hinted = document.descendants().filter(|n| n.has_tag_name("rect") && n.has_children()).count();
        (count("circle"), hinted, filled, svg.contains("stroke-dasharray"))
    };
    let (circles, squares, _, diagonal) = shapes(90);
    // a hollow circle is an area and an outline; the key has one of each kind
    let positives = rows(90, &NAMES[..2], 0).n_positive();
    assert_eq!((circles, squares), (2 * (90 - positives) + positives + 3, 0));
    assert!(diagonal, "both are log-probabilities");
    let (circles, squares, filled, _) = shapes(1600);
    assert_eq!((circles, squares), (0, filled));
}

#[test]
fn what_has_no_data_is_left_out_with_a_reason() {
    let mut rows = rows(90, &["logit@m"], 0);
    rows.by[1].1.iter_mut().for_each(|value| *value = Some("py".to_owned()));
    rows.by.remove(0);
    let mut evaluation = evaluated(&rows);
    evaluation.analyses.remove::<Overlap>();
    let (sections, left_out) = pictures(&evaluation, &rows);
    let kept: Vec<&str> = sections.iter().flat_map(|s| &s.pictures).map(|figure| figure.name.as_str()).collect();
    assert_eq!(kept, ["auc-intervals", "roc", "calibration"]);
    let why: Vec<&str> = left_out.iter().map(|figure| figure.why.as_str()).collect();
    let want =
        ["no generators", "no generators", "three metrics", "two metrics", "one value of `language`", "`label_type`"];
    assert_eq!(why.len(), want.len(), "{why:?}");
    for (why, want) in why.iter().zip(want) {
        assert!(why.contains(want), "`{want}` is not in `{why}`");
    }
}

#[test]
fn nothing_to_draw_is_no_fault() {
    let empty = HeatMap {
        columns: vec!["all".into()],
        bands: Vec::new(),
        scale: Diverging { centre: 0.0, reach: 1.0 },
        legend: String::new(),
        signed: true,
    };
    let line = intervals::IntervalLine {
        name: "x".into(),
        strong: true,
        auc: 0.5,
        interval: Some(Interval { low: 0.5, high: 0.5 }),
        in_sample: None,
    };
    let pictures = [
        heat_map::draw(&empty),
        intervals::draw(&[line]),
        intervals::draw(&[]),
        curves::draw_roc(&[]),
        curves::draw_calibration(&[], &[], 0.5),
        bars::draw(&[]),
    ];
    for picture in pictures {
        let svg = picture.finish("Empty", "", "");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        png::render(&svg).unwrap();
    }
}

#[test]
fn pixels_are_the_pictures() {
    let figures = all_figures(&rows(90, &NAMES, 3));
    for figure in &figures {
        let bytes = png::render(&figure.svg).unwrap();
        let pixels = resvg::tiny_skia::Pixmap::decode_png(&bytes).unwrap();
        assert_eq!(pixels.width(), (figure.width * 300.0 / 96.0).ceil() as u32, "{}", figure.name);
        let mut colours: Vec<u32> =
            pixels.pixels().iter().map(|p| u32::from_le_bytes([p.red(), p.green(), p.blue(), p.alpha()])).collect();
        assert!(colours.iter().all(|colour| colour >> 24 == 255), "{} has see-through pixels", figure.name);
        let ground = colours.iter().filter(|colour| **colour == u32::MAX).count();
        assert!(ground > colours.len() / 10 && ground < colours.len() * 99 / 100, "{}: {ground} white", figure.name);
        colours.sort_unstable();
        colours.dedup();
        assert!(colours.len() > 20, "{} has {} colours", figure.name, colours.len());
    }
    // letters are drawn, and with the bundled font: nothing is drawn without it
    let with = |text: &str| {
        let mut canvas = Canvas::new(100.0, 20.0);
        canvas.text(0.0, 15.0, text, canvas::PLAIN);
        png::render(&canvas.finish("", "", "")).unwrap()
    };
    assert_ne!(with("text"), with(""));
}
