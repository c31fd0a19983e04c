"""Lists of English words: those with a grammatical task, titles, first names, places."""

from __future__ import annotations

from spanwise.questions.parts import word_set

DETERMINERS = word_set("the a an")
AUXILIARIES = word_set("is are was were has have had can could may might will would must should do does did")
HAVE = {"has": "does", "have": "do", "had": "did"}
PRONOUNS = word_set(
    "i me my mine you your we us our he him she it they them himself herself itself themselves one this these those "
    "such others another here hers theirs who whom which what"
)
POSSESSIVES = word_set("his her its their")
PREPOSITIONS = word_set(
    "in on at of to by for from with into onto upon near during since until before after between among about against "
    "through across over under above below around within without along toward towards as via per like than behind "
    "beyond off inside outside despite throughout"
)
SUBORDINATORS = word_set(
    "which who whom whose where when while because although though if unless whereas whether since until that how why"
)
CONJUNCTIONS = word_set("and or but nor so yet")
OPENERS = word_set(
    "however therefore moreover furthermore although though while when because since if unless after before as until "
    "thus hence instead meanwhile nevertheless nonetheless additionally also finally later then today eventually first "
    "second third similarly likewise consequently indeed despite unlike like throughout whereas overall together once "
    "still now soon conversely historically by at in on for from with during under over to of among between without "
    "according based due born given"
)
ADVERBS = word_set(
    "also then later first now never often still once soon not only even already always sometimes usually again "
    "subsequently eventually originally initially finally currently formerly widely generally officially primarily "
    "mainly largely mostly somehow perhaps thereby thereafter afterwards together apparently rather quite almost "
    "nearly long well just both all ever thus therefore however further"
)
QUANTIFIERS = word_set(
    "some any many much more most few fewer less least several each every all both no other another same own one two "
    "three four five six seven eight nine ten eleven twelve hundred thousand million billion first second third fourth "
    "fifth only very too so up out down there early late new old"
)
APPROXIMATE = word_set("about around over nearly almost approximately roughly only some exactly just under")
MONTHS = word_set("January February March April May June July August September October November December")
NOT_NAMES = MONTHS | word_set(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday I Mr Mrs Dr Sir Lord Lady Saint St The A An In On At Of "
    "For To By With From He She It They We You His Her Its Their This These That Those There Here However When While "
    "If As Since After Before During Although But And Or Not No Some Many Most All Each Both Other Such Another One "
    "Two Three Also Only Even Chapter Section Part Volume Figure Table AD BC BCE CE Jr II III IV VI VII VIII IX XI XII"
)
PEOPLES = word_set(
    "American British English French German Italian Spanish Portuguese Dutch Russian Chinese Japanese Korean Indian "
    "Greek Roman Turkish Arab Arabic Jewish Christian Islamic Muslim Catholic Protestant European African Asian Irish "
    "Scottish Welsh Polish Swedish Danish Norwegian Finnish Hungarian Austrian Swiss Czech Mexican Canadian Australian "
    "Brazilian Persian Egyptian Soviet Latin Western Eastern Northern Southern North South East West Central Old New "
    "Great Ancient Medieval Modern Victorian Buddhist Hindu Republican Democratic Democrat Communist Nazi Israeli "
    "Iranian Iraqi Hebrew Celtic Norman Germanic Slavic Byzantine Ottoman Mediterranean Atlantic Pacific"
)
NUMBER_WORDS = word_set(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"
)
SCALES = word_set("hundred thousand million billion trillion")
TITLES = word_set(
    "mr mrs ms dr sir lord lady king queen prince princess emperor empress pope president saint st general captain "
    "colonel professor bishop archbishop senator governor minister duke earl count baron chancellor philosopher "
    "physicist chemist mathematician poet writer author novelist composer actor actress singer director painter artist "
    "economist historian biologist astronomer journalist architect engineer inventor explorer guitarist drummer "
    "producer linguist psychologist critic filmmaker"
)
ACTS = word_set(
    "said wrote married died argued believed claimed stated noted suggested thought says writes argues believes told "
    "asked taught studied sang starred himself herself resigned recalled explained commented insisted replied"
)
PLACE_TAILS = word_set(
    "City River Island Islands County Mountains Mountain Sea Ocean Lake Valley Street Avenue Bay Peninsula Desert "
    "Kingdom Republic States Province Park Hill Hills Forest Beach Coast Strait Gulf Square Town Airport"
)
NAME_TAILS = word_set(
    "University College Company Corporation Party Act Treaty War Wars Battle Empire Church Army Navy League Cup Award "
    "Awards Prize Society Institute Association Museum Library Court Council Committee Congress Parliament Bank Group "
    "Union Organization Organisation Commission Agency Times Post Press Records Theory Law Laws Revolution Bible Code "
    "Series Trilogy Games Convention Constitution Conference Club Band Orchestra School Hospital Inc Ltd Theorem "
    "Festival Movement Project Program Programme System Systems Station Foundation Dynasty Age Era Period Bridge Tower"
)
PLACES = word_set(
    "Africa Asia Europe America Antarctica Australia Oceania Afghanistan Albania Algeria Angola Argentina Armenia "
    "Austria Azerbaijan Bahrain Bangladesh Belarus Belgium Bolivia Bosnia Brazil Britain Bulgaria Burma Cambodia "
    "Cameroon Canada Chile China Colombia Croatia Cuba Cyprus Czechoslovakia Denmark Ecuador Egypt England Estonia "
    "Ethiopia Finland France Georgia Germany Ghana Greece Guatemala Haiti Honduras Hungary Iceland India Indonesia "
    "Iran Iraq Ireland Israel Italy Jamaica Japan Jordan Kazakhstan Kenya Korea Kuwait Laos Latvia Lebanon Libya "
    "Lithuania Luxembourg Madagascar Malaysia Mali Malta Mexico Moldova Mongolia Morocco Mozambique Namibia Nepal "
    "Netherlands Nicaragua Niger Nigeria Norway Oman Pakistan Palestine Panama Paraguay Persia Peru Philippines Poland "
    "Portugal Prussia Qatar Romania Russia Rwanda Scotland Senegal Serbia Siberia Sicily Singapore Slovakia Slovenia "
    "Somalia Spain Sudan Sweden Switzerland Syria Taiwan Tanzania Thailand Tibet Tunisia Turkey Uganda Ukraine Uruguay "
    "USA Uzbekistan Venezuela Vietnam Wales Yemen Yugoslavia Zambia Zimbabwe Alabama Alaska Arizona Arkansas "
    "California Colorado Connecticut Delaware Florida Hawaii Idaho Illinois Indiana Iowa Kansas Kentucky Louisiana "
    "Maine Maryland Massachusetts Michigan Minnesota Mississippi Missouri Montana Nebraska Nevada Ohio Oklahoma Oregon "
    "Pennsylvania Tennessee Texas Utah Vermont Virginia Wisconsin Wyoming Ontario Quebec Queensland Tasmania Amsterdam "
    "Athens Baghdad Baltimore Bangkok Barcelona Beijing Belgrade Berlin Birmingham Bombay Boston Brussels Budapest "
    "Cairo Calcutta Chicago Cologne Constantinople Copenhagen Dallas Damascus Delhi Denver Detroit Dresden Dublin "
    "Edinburgh Florence Frankfurt Geneva Genoa Glasgow Hamburg Helsinki Houston Istanbul Jerusalem Kiev Kyoto Leipzig "
    "Leningrad Lisbon Liverpool London Madrid Manchester Manila Melbourne Miami Milan Montreal Moscow Mumbai Munich "
    "Naples Osaka Oslo Oxford Cambridge Paris Philadelphia Prague Rome Seattle Seoul Shanghai Stockholm Sydney Tehran "
    "Tokyo Toronto Vancouver Venice Vienna Warsaw Wellington Zurich Mars Venus Jupiter Saturn Manhattan Brooklyn "
    "Hollywood"
)
FIRST_NAMES = word_set(
    "Aaron Abraham Adam Alan Albert Alexander Alfred Alice Andrew Anna Anne Anthony Arthur Barbara Benjamin Bernard "
    "Bertrand Bill Bob Brian Bruce Carl Catherine Charles Charlie Christian Christopher Clara Claude Daniel David "
    "Dennis Donald Dorothy Douglas Edgar Edmund Edward Edwin Eleanor Elizabeth Emily Emma Eric Ernest Eugene Felix "
    "Ferdinand Francis Frank Franklin Franz Fred Frederick Friedrich Galileo Gary Geoffrey George Gerald Gottfried "
    "Gordon Graham Gustav Guy Hans Harold Harry Heinrich Helen Henri Henry Herbert Herman Howard Hugh Humphrey Ian "
    "Immanuel Isaac Jack Jacob Jacques James Jane Jean Jeff Jennifer Jerry Jim Joan Johann Johannes John Johnny "
    "Jonathan Joseph Juan Julia Julius Karl Kate Keith Kenneth Kevin Larry Laura Lawrence Leo Leon Leonard Leonardo "
    "Lewis Linda Louis Louise Lucy Ludwig Luke Margaret Maria Marie Mark Martin Mary Matthew Max Michael Michelle Mike "
    "Napoleon Neil Nicholas Noam Oliver Oscar Otto Patrick Paul Peter Philip Pierre Ralph Raymond Rebecca Rene René "
    "Richard Robert Roger Ronald Roy Rudolf Ruth Sam Samuel Sarah Scott Sigmund Simon Sophie Stanley Stephen Steve "
    "Steven Stuart Susan Theodore Thomas Tim Timothy Tom Tony Victor Vincent Vladimir Walter Warren Wilhelm William "
    "Winston Wolfgang Woodrow"
)
