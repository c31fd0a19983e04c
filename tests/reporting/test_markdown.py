"""A page as Markdown holds its tables, sentences, commands and a few points of every line, and no picture."""

from spanwise.reporting.curves import Line, draw_chart
from spanwise.reporting.markdown import markdown
from spanwise.reporting.page import Bars, Cell, Commands, Page, Prose, Section, Table, row


def page_of(*blocks):
    sections = [Section(key="a", title="One", blocks=blocks), Section(key="b", title="Empty", blocks=(None,))]
    return Page(title="T", subtitle="Why?", sections=sections)


def test_tables_keep_their_titles_notes_and_bars_in_cells():
    table = Table(title="Of x", columns=("a", "b|c"), rows=[row("x\ny", Cell(text="1.00", note="± 0.10"))], note="N.")
    text = markdown(page_of(table, Table(columns=("gone",), rows=[]), Bars(title="picture", groups=[])))
    assert text.startswith(
        "# T\n\nWhy?\n\n## One\n\n### Of x\n\n| a | b\\|c |\n| --- | --- |\n| x y | 1.00 ± 0.10 |\n\nN."
    )
    assert "gone" not in text and "picture" not in text and "Empty" not in text


def test_sentences_commands_and_points_of_a_line_are_kept():
    chart = draw_chart("loss", [Line(label="arm", x=range(0, 900), y=range(0, 900))], x_label="tokens", y_label="nats")
    text = markdown(page_of(Prose(paragraphs=["It was so."]), chart, Commands(lines=[("run me", "Again.")])))
    assert "- It was so." in text and "Again.\n\n```bash\nrun me\n```" in text
    points = next(line for line in text.splitlines() if line.startswith("| arm"))
    assert points.startswith("| arm | 0: 0.000; ") and points.endswith("899: 899.000 |") and points.count(";") == 5
