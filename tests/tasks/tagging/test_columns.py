"""Blocks of columns: comments, empty lines, which column holds what."""

from spanwise.tasks.tagging.columns import (
    blocks_of,
    conllu_words,
    find_columns,
    holds_characters,
    is_conllu,
    without_language,
)


def blocks(text, tabs=True):
    return blocks_of(text.split("\n"), tabs=tabs)


def test_comments_and_empty_lines_part_sentences_and_a_hash_may_be_a_word():
    found, width = blocks("# id = 1\na\tO\n#tag\tB-X\n\t\n\n# id = 2\nb\tO\n")
    assert [[line.cells[0] for line in block] for block in found] == [["a", "#tag"], ["b"]] and width == 2
    assert found[1][0].number == 7
    ruled, _ = blocks("## id-1\tx\na\tO\n###\tO\n##\tO\n")
    assert [[line.cells[0] for line in block] for block in ruled] == [["a", "###", "##"]]
    spaced, _ = blocks("-DOCSTART- -X- O\n\n# NN O\n## NN O\na DT O", tabs=False)
    assert [[line.cells[0] for line in block] for block in spaced] == [["#", "##", "a"]]


def test_the_tag_column_is_the_last_one_of_entity_tags():
    found, width = blocks("1\ta\tO\t-\tme\n2\tb\tB-X\t-\tme")
    assert find_columns(found, width) == (1, 2)
    found, width = blocks("a NN B-NP\nb VB I-NP", tabs=False)
    assert find_columns(found, width) == (0, 2)
    found, width = blocks("a\tNN\nb\tVB")
    assert find_columns(found, width) == (0, 1)
    found, width = blocks("1\tO\n7\tO")  # a word may be a number
    assert find_columns(found, width) == (0, 1)


def test_files_of_characters_are_those_with_blanks_among_single_signs():
    assert holds_characters(blocks("가\tO\n \tO\n나\tO")[0])
    assert not holds_characters(blocks("a\tO\nb\tO")[0]) and not holds_characters(blocks("ab\tO\n \tO")[0])


def test_the_language_of_wikiann_is_dropped_where_all_words_have_it():
    assert without_language([["en:A", "en::"], ["en:b"]]) == [["A", ":"], ["b"]]
    assert without_language([["en:A", "b"]]) == [["en:A", "b"]] and without_language([]) == []


def test_conllu_leaves_out_empty_nodes_and_reads_the_parts_of_contractions():
    rows = ["1\tHe\tPRON", "2-3\tdon't\t_", "2\tdo\tAUX", "3\tn't\tPART", "3.1\tgo\tVERB", "4\tgo\tVERB", "5\t.\tPUNCT"]
    after = {"4": "SpaceAfter=No", "2-3": "_"}
    lines = []
    for row in rows:
        number, form, tag = row.split("\t")
        lines.append("\t".join([number, form, "_", tag, "_", "_", "_", "_", "_", after.get(number, "_")]))
    found, width = blocks("\n".join(lines))
    assert is_conllu(found, width)
    words, tags, blanks = conllu_words(found[0], 3, "x")
    assert words == ["He", "do", "n't", "go", "."] and tags == ["PRON", "AUX", "PART", "VERB", "PUNCT"]
    assert blanks == [True, False, True, False, True]
