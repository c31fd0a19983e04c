// The words of the page, in two languages, and an example of each.
"use strict";

const WORDS = {
  en: {
    model: "Model", text: "Text", documents: "Documents", tasks: "What to do", edit: "Edit", files: "Open files", clear: "Clear",
    paste: "Paste a text here, or drop files.", drop: "Drop text files here", question: "Ask the text a question", ask: "Ask",
    other: "한국어", dark: "Dark", light: "Light", newText: "Text",
    tabs: { "question-answering": "Ask", coreference: "Who is who", "token-classification": "Names", "fill-mask": "Hidden words", "text-generation": "Write on" },
    run: { coreference: "Find who is who", "token-classification": "Find names", "fill-mask": "Guess the hidden words", "text-generation": "Write on" },
    hint: {
      "question-answering": "The answer is a piece of the text. With several documents, all of them are searched.",
      coreference: "Mentions of the same person or thing get the same colour. Point at one to see its chain.",
      "token-classification": "Names of persons, places and organisations, and how they relate where the model knows.",
      "fill-mask": "Click words to hide them. The model guesses each one twice: from all the context, and from the two words at the borders alone.",
      "fill-mask-once": "Click words to hide them, and the model guesses them from all the context.",
      "text-generation": "The model goes on where the text ends, each time with the most likely word.",
      none: "What this model does has no place on this page; programs ask it by the API under /v1.",
    },
    noAnswer: "No answer in the text", noAnswerShort: "no answer", others: "Alternatives", passages: "Best passages",
    thinking: "Reading…", empty: "Paste a text first.", noQuestion: "Write a question first.", noneHidden: "Click one word or more in the text first.",
    nothing: "Nothing was found.", context: "From the context", borders: "From the borders", hidden: "was hidden",
    relations: "Relations", chains: n => `${n} ${n === 1 ? "chain" : "chains"}`, names: n => `${n} ${n === 1 ? "name" : "names"}`,
    busy: "The server is busy; trying again.", lost: "The server does not answer.", key: "This server wants its key:",
    leftOut: names => `Left out, for the page reads UTF-8 text below 4 MB: ${names.join(", ")}.`,
    tooLong: (n, most) => `The text has ${n.toLocaleString("en")} characters; at most ${most.toLocaleString("en")} are taken.`,
  },
  ko: {
    model: "모델", text: "본문", documents: "문서", tasks: "할 일", edit: "고치기", files: "파일 열기", clear: "지우기",
    paste: "여기에 글을 붙여 넣거나 파일을 끌어다 놓으세요.", drop: "텍스트 파일을 여기에 놓으세요", question: "글에 대해 물어보세요", ask: "질문",
    other: "English", dark: "어둡게", light: "밝게", newText: "글",
    tabs: { "question-answering": "질문", coreference: "누가 누구인가", "token-classification": "이름", "fill-mask": "가린 낱말", "text-generation": "이어 쓰기" },
    run: { coreference: "가리키는 말 찾기", "token-classification": "이름 찾기", "fill-mask": "가린 낱말 맞히기", "text-generation": "이어 쓰기" },
    hint: {
      "question-answering": "답은 글의 한 부분입니다. 문서가 여럿이면 모두 찾아봅니다.",
      coreference: "같은 사람이나 사물을 가리키는 말은 같은 색입니다. 하나를 짚으면 이어진 말이 모두 보입니다.",
      "token-classification": "사람, 장소, 기관의 이름과, 모델이 아는 경우 그 사이의 관계를 보여 줍니다.",
      "fill-mask": "낱말을 눌러 가리세요. 모델은 전체 문맥으로 한 번, 양쪽 경계의 두 낱말만으로 또 한 번 맞힙니다.",
      "fill-mask-once": "낱말을 눌러 가리면 모델이 전체 문맥으로 맞힙니다.",
      "text-generation": "모델이 글이 끝난 곳에서 가장 그럴듯한 말로 이어 씁니다.",
      none: "이 모델이 하는 일은 이 페이지에 없습니다. 프로그램에서 /v1 아래의 API로 쓰세요.",
    },
    noAnswer: "글에 답이 없습니다", noAnswerShort: "답 없음", others: "다른 후보", passages: "가장 알맞은 대목",
    thinking: "읽는 중…", empty: "먼저 글을 넣어 주세요.", noQuestion: "먼저 질문을 적어 주세요.", noneHidden: "먼저 글에서 낱말을 하나 이상 누르세요.",
    nothing: "찾은 것이 없습니다.", context: "문맥으로", borders: "경계만으로", hidden: "가린 말",
    relations: "관계", chains: n => `묶음 ${n}개`, names: n => `이름 ${n}개`,
    busy: "서버가 바쁩니다. 다시 시도합니다.", lost: "서버가 대답하지 않습니다.", key: "이 서버의 API 키를 입력해 주세요:",
    leftOut: names => `4 MB보다 작은 UTF-8 텍스트만 읽으므로 제외했습니다: ${names.join(", ")}`,
    tooLong: (n, most) => `글이 ${n.toLocaleString("ko")}자입니다. 최대 ${most.toLocaleString("ko")}자까지 받습니다.`,
  },
};

const EXAMPLES = {
  en: {
    text: "Marie Jones was born in Boston in 1861, where she learned to draw bridges. In 1884 Marie moved to Paris, where she opened a school " +
      "for girls. The school was small, but Paul Martin, a painter, praised the school.\n\n" +
      "After the war she returned to London. The University of London gave her a medal in 1910.",
    question: "When did Marie move to Paris?",
  },
  ko: {
    text: "수원 화성은 조선 정조 때인 1796년에 완성되었다. 성을 설계한 사람은 실학자 정약용으로, 그는 무거운 돌을 들어 올리는 거중기를 만들었다. " +
      "화성은 1997년에 유네스코 세계 문화유산으로 등록되었으며, 오늘날 수원시를 대표하는 문화재이다.",
    question: "화성이 세계 문화유산으로 등록된 해는 언제인가?",
  },
};
