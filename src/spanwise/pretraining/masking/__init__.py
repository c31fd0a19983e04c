"""Choose what is hidden, then what stands there instead: one scheme a file."""

from spanwise.pretraining.masking.adapter import FunctionMasking
from spanwise.pretraining.masking.geometric_spans import GeometricSpans
from spanwise.pretraining.masking.mixture import MaskingMixture
from spanwise.pretraining.masking.n_grams import NGrams
from spanwise.pretraining.masking.nothing import NoMasking, NoReplacement
from spanwise.pretraining.masking.questions import QuestionTokens
from spanwise.pretraining.masking.recurring_groups import RecurringGroups
from spanwise.pretraining.masking.recurring_spans import RecurringSpans
from spanwise.pretraining.masking.replacement import Replacement
from spanwise.pretraining.masking.rounds import SubwordTokens, WholeWords
from spanwise.pretraining.masking.tagged_phrases import TaggedPhrases
from spanwise.pretraining.masking.two_maskings import TwoMaskings
