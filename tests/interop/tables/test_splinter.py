"""Splinter's folders: what its two classes compute, and which of them a folder becomes."""

import json

import pytest
import torch
from tests.interop.conftest import make_heads
from tests.interop.oracle import ORACLES, load_theirs, make_batch, open_ours
from tests.nn.toy import toy_config, toy_encoder

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import read_tokenizer
from spanwise.interop.convert import convert
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.load import load
from spanwise.interop.tables import splinter
from spanwise.nn.losses.pointer import ManyPointers, pointer_loss
from spanwise.nn.sequences import Sequences
from spanwise.text.tokenizers import Tokenizer

CLASSES = ["SplinterForQuestionAnswering", "SplinterForPreTraining"]
ASKED = [[2, 7, 8], [1, 3], [5]]  # places of the questions of each row; rows have 10, 4 and 7 tokens
GOLD = [[(3, 6), (1, 1), (4, 9)], [(2, 3), (2, 2)], [(1, 6)]]  # first and last token of each answer; never place 0


@pytest.mark.parametrize("name", CLASSES)
def test_every_parameter_of_a_stock_class_has_exactly_one_line(name):
    ORACLES["splinter"].assert_lines_are_the_parameters(splinter.SPLINTER, name, toy_config())


def laid_out(batch):
    """The batch as a pack: its sequences, the rows of the questions, and the pointers."""
    sequences = Sequences.from_lengths(batch.mask.sum(1).tolist())
    starts = sequences.cu_seqlens.tolist()
    rows = torch.tensor([starts[row] + place for row, places in enumerate(ASKED) for place in places])
    return sequences, rows, ManyPointers.of([len(places) for places in ASKED], sequences)


def their_arguments(batch):
    """Positions and answers as the class takes them: rows of unequal numbers of questions filled up with zeros."""
    positions, first, last = torch.zeros(3, len(ASKED), 3, dtype=torch.long)
    for row, (places, golds) in enumerate(zip(ASKED, GOLD, strict=True)):
        positions[row, : len(places)] = torch.tensor(places)
        first[row, : len(golds)], last[row, : len(golds)] = torch.tensor(golds).t()
    given = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
    return {**given, "question_positions": positions, "start_positions": first, "end_positions": last}


def our_forward(folder, batch):
    _, encoder, heads = open_ours(folder)
    sequences, rows, pointers = laid_out(batch)
    real = batch.mask.bool()
    hidden = encoder(batch.ids[real], batch.types[real], sequences)
    hidden.retain_grad()
    start, end = heads["span_selection"](hidden, rows, pointers)
    gold = torch.tensor([pair for golds in GOLD for pair in golds])
    places = pointers.borders[:-1, None] + gold
    starts, ends = (pointer_loss(s, pointers.borders, places[:, k]).sum for k, s in enumerate((start, end)))
    return encoder, heads["span_selection"], hidden, start, end, (starts + ends) / (2 * len(gold))


def test_hidden_states_logits_and_loss_of_any_number_of_questions_are_those_of_pre_training(tmp_path):
    oracle = ORACLES["splinter"]
    theirs = oracle.model("SplinterForPreTraining")
    theirs.save_pretrained(tmp_path)
    batch = make_batch(oracle)
    *_, hidden, start, end, loss = our_forward(tmp_path, batch)
    expected = theirs(**their_arguments(batch), output_hidden_states=True)
    assert (hidden - expected.hidden_states[-1][batch.mask.bool()]).abs().max() < 1e-5
    assert (loss - expected.loss).abs() < 1e-5
    lengths = batch.mask.sum(1).tolist()
    for ours, logits in ((start, expected.start_logits), (end, expected.end_logits)):
        wanted = [logits[row, k, : lengths[row]] for row, places in enumerate(ASKED) for k in range(len(places))]
        torch.testing.assert_close(ours, torch.cat(wanted), atol=1e-5, rtol=1e-5)


def test_gradients_of_the_loss_are_those_of_pre_training(tmp_path):
    oracle = ORACLES["splinter"]
    theirs = oracle.model("SplinterForPreTraining")
    theirs.save_pretrained(tmp_path)
    batch = make_batch(oracle)
    encoder, head, *_, loss = our_forward(tmp_path, batch)
    loss.backward()
    theirs(**their_arguments(batch)).loss.backward()
    wanted = dict(theirs.named_parameters())
    key_map = splinter.SPLINTER.key_map(encoder.config, {})
    ours = {name: p.grad for name, p in encoder.named_parameters()}
    ours["embeddings.word.weight"] = ours["embeddings.word.weight"][: encoder.config.vocab_size]
    found = key_map.encoder_to_theirs(ours)
    found |= key_map.give(key_map.heads["span_selection"], {name: p.grad for name, p in head.named_parameters()})
    assert found.keys() == wanted.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, wanted[name].grad, atol=1e-5, rtol=1e-4)


def test_a_pointer_is_written_as_pre_training_until_a_task_taught_it(tmp_path):
    encoder = toy_encoder()
    heads = make_heads(encoder, "mlm", "span_selection")
    untaught = write_folder(tmp_path / "untaught", FolderContent(encoder, heads))
    assert (untaught.architecture, untaught.beside) == ("SplinterForPreTraining", ("mlm",))
    taught = write_folder(
        tmp_path / "taught",
        FolderContent(encoder, heads, main_head="span_selection", main_kind="task", model_type="bert"),
    )
    assert (taught.architecture, taught.beside) == ("SplinterForQuestionAnswering", ("mlm",))
    assert read_folder(tmp_path / "taught").heads.keys() == {"mlm", "span_selection"}
    for name in ("untaught", "taught"):
        load_theirs(tmp_path / name)
        converted = convert(tmp_path / name, tmp_path / f"{name} again")
        assert converted.written.architecture == read_folder(tmp_path / name).source_class


def test_an_encoder_that_is_not_berts_keeps_its_pointer_beside_its_own_class(tmp_path):
    encoder = toy_encoder(position_offset=1, num_token_types=1)
    written = write_folder(tmp_path / "r", FolderContent(encoder, make_heads(encoder, "mlm", "span_selection")))
    assert (written.architecture, written.beside) == ("RobertaForMaskedLM", ("span_selection",))
    assert "span_selection" in read_folder(tmp_path / "r").heads


VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]", "[QUESTION]", "[unused2]", ".", "the", "Han"]


def words(folder, pieces):
    """A folder of `vocab.txt` alone, as the released ones are."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    return Tokenizer.load(folder)


def test_the_id_of_the_question_token_stands_in_the_configuration(tmp_path):
    tokenizer = words(tmp_path / "words", VOCABULARY)
    encoder = toy_encoder(vocab_size=len(VOCABULARY))
    write_folder(tmp_path / "a", FolderContent(encoder, make_heads(encoder, "span_selection"), tokenizer))
    assert json.loads((tmp_path / "a" / "config.json").read_text())["question_token_id"] == 6
    assert load_theirs(tmp_path / "a").question_token_id == 6
    assert read_folder(tmp_path / "a").role_ids == {"question": 6}
    again = convert(tmp_path / "a", tmp_path / "b").tokenizer
    assert again.question_id == 6 and again.sha256 == tokenizer.sha256
    assert 6 not in again.encode("the [QUESTION] Han").ids  # text never becomes it


def test_every_reader_of_a_folder_of_others_knows_the_piece_of_the_question(tmp_path):
    pieces = ["[unused9]" if piece == "[QUESTION]" else piece for piece in VOCABULARY]
    encoder = toy_encoder(vocab_size=len(VOCABULARY))
    heads = make_heads(encoder, "span_selection")
    write_folder(tmp_path / "a", FolderContent(encoder, heads, words(tmp_path / "words", VOCABULARY)))
    for path in (tmp_path / "a").glob("*token*.json"):
        path.unlink()
    assert words(tmp_path / "a", pieces).question_id == -1
    checkpoint = read_folder(tmp_path / "a")
    found = [read_tokenizer(checkpoint), read_tokenizer(checkpoint, tmp_path / "a"), load(tmp_path / "a").tokenizer]
    assert [tokenizer.question_id for tokenizer in found] == [6, 6, 6]
    assert convert(tmp_path / "a", tmp_path / "b").tokenizer.question_id == 6


def test_a_vocabulary_that_only_reserves_the_id_gets_the_question_there_and_another_id_is_refused(tmp_path):
    theirs = ORACLES["splinter"].model("SplinterForPreTraining", vocab_size=len(VOCABULARY), question_token_id=7)
    theirs.save_pretrained(tmp_path / "theirs")
    words(tmp_path / "theirs", [piece if piece != "[QUESTION]" else "[unused3]" for piece in VOCABULARY])
    converted = convert(tmp_path / "theirs", tmp_path / "ours")
    assert converted.tokenizer.question_id == 7 and converted.tokenizer.specials["question"] == "[QUESTION]"
    assert Tokenizer.load(tmp_path / "ours").question_id == 7
    words(tmp_path / "theirs", VOCABULARY)
    with pytest.raises(CheckpointError, match=r"\[QUESTION\] has the id 7, and the tokenizer gives it 6"):
        convert(tmp_path / "theirs", tmp_path / "no")


def test_a_decoder_is_refused(tmp_path):
    ORACLES["splinter"].model("SplinterForPreTraining").save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "is_decoder": True}))
    with pytest.raises(CheckpointError, match="is_decoder = True; only False"):
        read_folder(tmp_path)
