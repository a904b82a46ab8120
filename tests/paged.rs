//! A file with pages, for the tests of the library and of the harness.

/// A PDF file with a line on each page.
pub fn pdf(lines: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..lines.len()).map(|at| format!("{} 0 R", 4 + 2 * at)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!(
            "<</Type/Pages/Kids[{}]/Count {}/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>>>",
            kids.join(" "),
            lines.len()
        ),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
    ];
    for (at, line) in lines.iter().enumerate() {
        let content = format!("BT /F 12 Tf 72 600 Td ({line}) Tj ET");
        objects.push(format!("<</Type/Page/Parent 2 0 R/Contents {} 0 R>>", 5 + 2 * at));
        objects.push(format!("<</Length {}>>\nstream\n{content}\nendstream", content.len()));
    }
    let (mut file, mut table) = (String::from("%PDF-1.7\n"), String::new());
    for (number, object) in (1..).zip(&objects) {
        table += &format!("{:010} 00000 n \n", file.len());
        file += &format!("{number} 0 obj\n{object}\nendobj\n");
    }
    let (start, count) = (file.len(), objects.len() + 1);
    file += &format!("xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<</Size {count}/Root 1 0 R>>\n");
    (file + &format!("startxref\n{start}\n%%EOF\n")).into_bytes()
}
