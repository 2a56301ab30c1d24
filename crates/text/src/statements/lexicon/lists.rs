//! The lists themselves.

/// Verbs of programming and reviewing, in plain form.
pub(super) const VERBS: &str = "
abort accept access account achieve act activate adapt add address adjust adopt advertise affect align alias allocate allow alter
analyze annotate append apply approve argue arrange ask assert assign assume attach attempt automate avoid await backport
batch behave belong benefit block boost bound bump bundle bypass cache calculate call cancel capture cast catch cause change check clamp
clarify clean cleanup clear clone close coerce collapse collect combine comment commit compare compile complain complete
compute configure confirm confuse connect consider consolidate construct consume contain continue contribute control
convert copy correct count cover crash create customize cut deactivate debug declare decode decouple decrease dedupe
deduplicate default defer define delay delegate delete demonstrate depend deprecate derive describe deserialize destroy
detect determine differ disable disallow discard display dispose distinguish document double download downgrade drop dump
duplicate elide eliminate emit empty enable encapsulate encode encourage end enforce enhance ensure enter escape
evaluate evict examine exceed exclude execute exist exit exhibit expand expect expire explain export expose extend extract face fail
fetch fill filter finalize finish fix flag flatten flush focus fold follow force fork format forward free function generate
group guarantee guard handle happen harden hardcode help hide highlight hoist hook identify ignore implement imply import
improve include incorporate increase increment indent index indicate infer inherit init initialize inject inline insert
inspect install instantiate integrate intend interpret introduce invalidate invert invoke involve isolate issue iterate
join keep kill lack lead leak limit link lint list listen load localize lock log look loop lower maintain manage map mark
mask match matter mean measure mention merge migrate minify minimize mirror miss mock modernize modify monitor mount move mutate
name narrow need negate nest normalize note notice notify obtain occur offer omit open optimize order organize output
overload override overwrite pack pad paginate parallelize parse pass patch perform permit persist pick pin place plug
point polish poll populate port prefer prefix prepare prepend preserve prevent print process produce profile prohibit
promote propagate protect prove provide prune publish pull purge push query queue quote raise randomize reach read
rearrange rebase recommend receive record recover redact redirect redo reduce reenable refactor refer reference refine reflect
reformat refresh refuse regenerate register reimplement reject relate relax release rely reload relocate remain remove rename
render reorder reorganize repair repeat rephrase replace report represent reproduce request require reserve reset reshape
resize resolve respect restore restrict result resume retain rethrow retrieve retry return reuse revert review revise
revisit rework reword rewrite rotate round run sanitize satisfy save scale scan schedule search seem select separate
serialize serve shadow share shift shorten show shrink shut silence simplify skip slice solve sort specify speed split
squash stabilize start stop store streamline strip style subtract suffer suggest support suppress swap switch
sync synchronize tag take target terminate test throw tidy toggle touch track transfer transform translate treat trigger trim
truncate try turn tweak type understand undo unify unlock unpack unpin unset unwrap update upgrade upload use utilize
validate verify wait want warn waste weaken widen work worry wrap write yield zero";

/// Irregular verbs: plain form and the forms of the past.
pub(super) const IRREGULAR: &str = "
become/became begin/began/begun break/broke/broken bring/brought build/built catch/caught choose/chose/chosen come/came
cut/cut deal/dealt do/did/done draw/drew/drawn drive/drove/driven find/found forget/forgot/forgotten freeze/froze/frozen
get/got/gotten give/gave/given go/went/gone grow/grew/grown hide/hid/hidden hold/held keep/kept know/knew/known
lead/led leave/left let/let lose/lost make/made mean/meant overwrite/overwrote/overwritten override/overrode/overridden
put/put read/read rewrite/rewrote/rewritten run/ran say/said see/saw/seen send/sent set/set show/shown/showed shut/shut
speak/spoke/spoken spend/spent split/split take/took/taken tell/told think/thought throw/threw/thrown
understand/understood undo/undid/undone write/wrote/written";

/// Forms of verbs of the lists that are nouns or adjectives as often.
pub(super) const NOUNS_TOO: &str = "
access account address alias aliases attempt attempts batch block blocks bound bounds bump bundle bundles cache caches call
calls cast casts catch cause causes change changed changes check checks clean clear clone clones comment comments commit commits
complete control controls copies copy correct count counts crash crashes cut default defaults delay display document documents
double dump dumps duplicate duplicates empty end ends escape escapes exit exits export exports filter filters fix fixes
flag flags focus force format formats free function functions group groups guard guards handle handles help hook hooks
import imports increase index indexes inline input issue issues join joins lead leak leaks limit limits link links lint list
lists load loads lock locks log logs loop loops lower map maps mark marks match matches measure merge merges mock mocks
name names need needs note notes notice open order orders output outputs override overrides pass passes patch patches pick
place places plug point points poll port ports prefix prefixes print prints process processes profile profiles query
queries queue queues quote quotes read reads record records redirect redirects reference references release releases
report reports request requests reset result results return returns review reviews round run runs scale scan scans schedule
search searches separate set sets share shift shows skip slice slices sort sorts speed split splits start starts stop
stops store stores strip style styles support supports swap switch switches sync tag tags target targets test tests track
transfer transform transforms trigger triggers turn tweak tweaks type types update updates upgrade upgrades upload uploads use
uses value wait want warning work works wrap yield zero";

/// Auxiliaries, and what makes a clause as they do.
pub(super) const AUXILIARIES: &str = "
am are aren't can can't cannot could couldn't did didn't do does doesn't don't had hadn't has hasn't have haven't he's here's
i'd i'll i'm i've is isn't it'd it'll it's let's may might must mustn't needn't shall should shouldn't that'd that'll
that's there's they'd they'll they're they've this'll was wasn't we'd we'll we're we've were weren't what's will won't would
wouldn't you'd you'll you're you've";

/// Grammar.
pub(super) const FUNCTION: &str = "
a about above across actually after again against ago all almost along already also although always am among an and another any
anymore anyone anything anyway anywhere are aren't around as at away back be because been before being below between both but
by can can't cannot could couldn't did didn't do does doesn't doing don't done down during each either else even ever every
everyone everything everywhere except few for from further furthermore get gets getting got had hadn't has hasn't have
haven't having he he's hence her here here's hers him his how however i i'd i'll i'm i've if in indeed inside instead into
is isn't it it'd it'll it's its itself just let let's like made make makes making many may maybe me might more moreover
most much must my myself neither never no none nor not nothing now of off often on once one ones only onto or other
others otherwise our ours out over own per perhaps please quite rather really same shall she should shouldn't simply
since so some someone something sometimes somewhere soon still such than that that's the their theirs them themselves
then there there's therefore these they they're they've this those though through throughout thus to together too toward
towards two under unless until up upon us usually very via was wasn't we we'd we'll we're we've well were weren't what
what's whatever when where whereas whether which while who whole whom whose why will with within without won't would
wouldn't yes yet you you'd you'll you're you've your yours e.g. i.e. eg ie etc etc. vs. vs";

/// Words that say how good something is.
pub(super) const EVALUATIVE: &str = "
acceptable accurate adequate admirable amazing appropriate approve approved awesome awkward bad beautiful beneficial best better
brilliant clarity cleaner cleanest cleanliness clean clear clearer clearly comfortable concise confused confusing
consistency consistent convenient cool correct correctly correctness crucial cumbersome decent descriptive desirable dirty
easier easily easy effective effectively efficiency efficient efficiently elegant error-prone excellent exciting explicit
fair fantastic fine flexibility flexible good great hacky handy hard harder helpful helps horrible ideal ideally
important impressive improve improved improvement improvements improves improving inconsistent intuitive interesting
legible lgtm love lovely maintainability maintainable maintain meaningful messy minor misleading modular modularity neat
necessary nice nicely nicer obvious odd ok okay overkill perfect perfectly performant pleasant positive powerful practical
preferable pretty problematic proper properly quality readability readable reasonable redundant reliability reliable
reliably robust robustness scalability scalable sensible significant simple simpler simplicity smart smooth solid sound
straightforward strange stylistic sufficient suitable super superb ugly unclear understandable unfortunate unnecessarily
unnecessary useful usability user-friendly valuable valid weird well-structured well-written wise wonderful worse worst worth worthwhile
worthy wow wrong yay";

/// What every change and every review has.
pub(super) const VAGUE: &str = "
addition adhere adheres adding agree aim allow allows appear appears approach aspect aspects author aware basis benefit benefits bit
change changed changes code codebase codebases coding common completely concern concerns conclusion contribute
contributes convention conventions correction corrections course current decision depends design detail details developer developers
development developing difference different difficult direction doubt effort efforts enhance enhances enhancing
ensure ensures ensuring entire entirely especially expect explanation extent fact feel feels feeling fix fixes follow following
follows future general generally give gives glad goal going good-to-go guess guidelines guideline happy help helping hope
idea ideas impact implementation implementations intent intention issue issues job keep keeping kind know lead leads lines
lint lot looks look looking maintaining maintainers maintenance major make matter mean means mind modification modifications need
needed needs new nit nitpick nits note number opinion optional overall part particular pattern patterns people performance
personal personally piece point possible possibly potential potentially practice practices pr prefer preference principle
principles probably provided problem problems programmer programmers project projects promote promotes promoting provide provides
purpose purposes question questions quick quickly read reading reason reasons regard regarding
result results review reviewed reviewer reviewers right say see seem seemed seems sense set side situation slightly small
software solution someone sort specific standard standards stuff style suggest suggestion suggestions summary sure
taste team tell term terms thing things think thinking thought thoughts time tiny today total totally try trying
understand understanding unsure update updated updates use user users using want way ways wip wonder word words work
working works write writing written sounds shape ready merge go ahead ship shipit effort done thanks makes";

/// Thanks, greetings, excuses.
pub(super) const COURTESY: &str = "
apologies apologize appreciate appreciated bye cheers congrats congratulations dear greetings hello hey hi kudos regards sincerely
sorry thank thanks thankyou thx ty welcome";

/// Words around a reference or a link.
pub(super) const AROUND_REFERENCES: &str = "
a added addressed addresses addressing also and answer article as at background blog by bug bugs can change check close
closed closes comment comments commit commits context cve discussed discussion doc docs documentation documented explained
find fix fixed fixes fixing following for found from gh github has here http https i in info information
is issue issues link links me more mentioned merge merged merges of on originally out page part partially per please pointed post pr pr's pull prs
ref reference references refs related relates reported request requests resolve resolved resolves resolving review see
source stackoverflow suggested suggestion supersedes that the this thread ticket to upstream via was with you";

/// Words before a statement that do not change what it does.
pub(super) const LEADS: &str = "
actually additionally ah again alright also alternatively although and anyway aside as basically because besides btw but
consequently currently essentially finally first firstly fourthly fwiw fyi generally given hence here hmm hmmm however imho imo
instead just last lastly likewise minor moreover furthermore namely next nit nitpick now obviously oh ok okay or overall personally
possibly second secondly similarly simply since small so still then therefore third thirdly though thus well whereas
yes yeah yep yet which and/or nits optional optionally maybe perhaps ideally suggestion otherwise really honestly further
specifically";

/// Beginnings of conditions and times.
pub(super) const SUBORDINATORS: &str = "
after assuming before if once provided unless until when whenever whether wherever e.g. i.e. eg ie like such";

/// Words of titles.
pub(super) const TITLES: &str = "
a additional analysis and breaking change changelog changes checklist code comment comments concern concerns conclusion critical
description detail details disclaimer example examples explanation feedback final fix following general here high highlights
impact important improvement improvements in info introduction is issue issues key level low major medium minor motivation
my nit nitpick nitpicks note notes of observation observations option or other output overview positive possible potential pr problem
proposed question questions rationale reason reasons recommendation recommendations refactor refactoring reference references
related result results review risk screenshots security severity solution some steps style suggested suggestion suggestions summary
test testing the thoughts title todo tip walkthrough warning why your";

/// Units and suffixes of numbers.
pub(super) const UNITS: &str = "
b bit bits byte bytes cm d e em fps g gb gib h hz k kb khz kib l m mb mhz mib min mins mm ms n ns pct pt px rem s sec secs tb
u us w x y i f bn µs";

/// Capitals that are no name of code.
pub(super) const CAPITALS: &str = "
AFAICT AFAIK AFAIR ALL ALSO AND ANY ARE ASAP BREAKING BTW BUT CAN CHANGE CHANGES CL DO DON DRY EDIT ETA FIX FIXED FIXME FWIW FYI
HACK IANAL IIRC IIUC IMHO IMO IMPORTANT IS IT KISS LGTM LOL MAY MR MRS MUST NB NEED NEVER NIT NOT NOTE NOW OF OK ON ONLY OR
PLEASE PR PRS PTAL REVERT SGTM SHOULD TBD TBH THAT THE THIS TL TLDR TO TODO TODOS TWO VERY WARNING WAS WILL WIP XXX YAGNI YES YOU";

/// Frequent words of English texts about code that stand in no other list.
pub(super) const ENGLISH: &str = "
ability able absolute accidentally action actions active actual advance algorithm alone alternative amount app appearance application
argument arguments array arrays article assertion attribute attributes author available backend backward backwards bad base based
basic behavior behaviour big binary block body boolean bottom box branch browser buffer bug bugs button byte bytes case cases certain
char character characters child children class classes client code color column columns command commands compatibility
compatible compilation compiler component components concept condition conditional conditions config configuration connection
consequence constant constants constructor content contents context contributor contributors copyright core corner coverage
current custom data database date day days dead debugging declaration default definition dependencies dependency deprecation
description destination device dictionary diff direct directly directories directory docs docstring documentation duplicated
dynamic early edge editor effect element elements empty encoding entries entry environment equal error errors event events
exact exactly example examples exception exceptions executable existing explicit explicitly expression extension external extra
factory failure fallback false fast faster feature features field fields file filename files final first flaky float folder
font footer format former frame framework full function functionality functions generic global grammar guide handler handling
hash header headers height helper hidden high history home host html http id image images implicit implicitly import
incoming incorrect incorrectly independent index individual inefficient info information initial initialization inner input instance
integer integration interface internal international invalid item items iterator key keys keyword kind label language
languages large last latest layer layout leading least left legacy length less level lib libraries library license line lines linter
linux list little local location lock logic login long longer loop low macos macro main major manager manual manually mapping
match matching max maximum member memory menu message messages meta metadata method methods middle middleware minimal minimum
missing mistake mode model module modules month multi multiple mutable name namespace names native negative network
nested next node nodes null number numbers object objects old older operation operations operator option options original output
outdated outer package packages page parameter parameters parent parser parsing partial password path paths perl
permission permissions person place platform player plugin plugins pointer position post precision prefix presence present preview
previous previously primary primitive printing private procedure process processing production profile program
programming prompt properties property protocol prototype proxy public python query random range raw readme real
recent recursion recursive redesign reference regex regexp regression relative release releases relevant remaining remote
renamed repeated repo repository request requests requirement requirements response responses root route router row rows rule
rules runtime safe safety sample schema scope screen script scripts second section security selector sequence server service
services session setting settings setup shell short shorter side signal signature similar single size slow space spaces special
specific spec specification spelling stack standalone state statement statements static status step steps storage store
stream strict string strings struct structure style subclass subsequent suffix suite symbol syntax system table tabs target task tasks
template temporary terminal test tests text theme third thread threads three throw timeout timestamp tip title todo token
tokens tool tools top trace traffic trailing tree true tutorial type types typing typo typos undefined unicode unit
unreachable unsafe unused upper url urls usage usages utility utils value values variable variables vendor verbose version versions view
virtual visible warning warnings web website whitespace width wildcard window windows word words worker wrapper year years zero
minor misc nit tweaks bump support man";

/// Frequent words of German, French, Spanish, Portuguese, Italian, Dutch, Polish, Turkish, Swedish and Indonesian that are no
/// English ones.
pub(super) const FOREIGN: &str = "
aber alle als auch auf aus bei beim bereits bitte da das dass dem den denn der des die diese diesem diesen dieser dieses doch
durch eine einem einen einer eines ein er es fehlt für gibt hat hier ich ihr immer ist jetzt kann kein keine mehr mit muss nach
nicht noch nur oder ohne schon sein seine sich sie sind sollte sondern über um und uns unter vom von vor war warum weil wenn wer werden
wie wieder wir wird wurde wurden zu zum zur zwischen
au aucun aussi autre aux avant avec car ce cela celui ces cet cette ceci comme dans de depuis donc dont du elle elles en encore est et être
fait faut il ils je la le les leur lors lorsque mais même ne nous ou où par pas peut plus pour pourquoi puis quand que quel quelle
qui sa sans ses si son sont sous sur tous tout toute toutes très une un votre vous été était
al algo ahora antes aquí así aún cada como con cuando cual de debe debería del desde donde el ella ellos entre era eres es esa
ese eso esta está están este esto estos fue ha hace hasta hay la las lo los más mi mucho muy nada ningún nos otra otro para pero
poco por porque puede que qué quien sea según ser si sí sin sino sobre solo son su sus también tan tiene todos tras un una uno usa usar ya
ao aos até com da das depois deve dele dessa desse dos e ela ele em essa esse estar foi isso isto já lhe mais mas mesmo
muito na não nas nem nos nossa nosso num numa o os ou pela pelo pelos pode por quando quem se sem seu sua são só também
tem temos ter uma você
alla anche ancora che chi con così cosa della delle dello degli di dove era gli hanno il lui ma molto nel nella non ogni
perché però più prima può quale quando quello questa questo sarà senza si sono stata stato sulla tra troppo tutti tutto una viene
aan alleen bij dat deze dit door een geen het heb heeft hebben hij hoe ik kan maar meer met naar niet nog nu omdat ook
op te tot uit van veel voor waarom wat welke werd wij wordt worden zal ze zijn zonder
ale bez będzie być czy dla gdy jak jako jest już kiedy która które który lub może nie niż oraz po przed przez przy są się
tak tego ten też tylko tym za ze że
ama bir bu çok daha değil diye en gibi için ile ise kadar mi ne olan olarak ve veya var yok
att av den denna det detta ej eller ett finns från för har här inte jag kan med men och också om på skall som till var vi vid är
adalah akan atau bahwa bisa dan dalam dari dengan di ini itu juga karena ke oleh pada sudah tidak untuk yang";
