// Every sentence of the page. A word in braces is filled in.
const catalogues = {
  en: {
    'enter.title': 'Who is at this door?', 'enter.name': 'Your name', 'enter.start': 'Start',
    'enter.how': 'Scan the QR code that the laptop shows. It opens this page and works once.',
    'enter.bykey': 'Sign in with a key', 'enter.key': 'Key', 'enter.secret': 'Secret',
    'enter.wrong': 'Key or secret is wrong.', 'enter.used': 'This QR code was used before, or is too old. Ask for another one.',
    'enter.ended': 'This phone may not scan any more. Ask for a new QR code.', 'enter.slow': 'Too many attempts. Wait a minute.',
    'enter.nodoor': 'This key is not for a door.',
    'pick.title': 'Where do you stand?', 'pick.event': 'Event', 'pick.door': 'Door', 'pick.go': 'Go to the door', 'pick.none': 'No event is near. Ask who runs the laptop.',
    'pick.closed': 'takes no check-ins', 'door.first': 'Entrance',
    'menu.open': 'Settings', 'close': 'Close',
    'count.in': 'In', 'count.expected': 'Expected', 'count.minute': 'Per minute',
    'scan.label': 'Scan or type a code', 'scan.go': 'Check', 'way.camera': 'Camera', 'way.photo': 'Photo', 'way.search': 'Name',
    'eye.close': 'Stop the camera', 'eye.looking': 'Hold the code in front of the camera.', 'eye.none': 'This phone has no camera that the page may use.',
    'eye.refused': 'The camera is not allowed. Allow it in the browser’s settings of this page, or take a photo.',
    'eye.busy': 'Another program uses the camera. Close it, or take a photo.',
    'eye.http': 'Browsers give the camera to https pages alone. Take a photo instead, or type the code.',
    'eye.curable': 'The camera is missing because this page came over http: set this phone up once, then scan a new QR code of the laptop, or take a photo.', 'eye.trust': 'Set this phone up',
    'photo.reading': 'Reading the photo …', 'photo.none': 'No code on this photo. Go nearer, and hold still.', 'photo.wrong': 'This photo cannot be read.',
    'choose.title': 'Which code?', 'last.title': 'Last scans', 'last.none': 'Nothing scanned yet.', 'doors.title': 'Doors',
    'doors.in': '{n} in', 'find.title': 'Find by name', 'find.label': 'Name, or the last digits of the phone', 'find.more': 'Type more letters.', 'find.none': 'Nobody of this name has a ticket.',
    'find.many': 'There are more. Type more letters.', 'find.in': 'in since {time}',
    'undo': 'Undo', 'undone.short': 'undone', 'next': 'Next', 'letin': 'Let in', 'hold': 'Hold', 'decide': 'Decide now', 'forget': 'Remove',
    'admitted': 'Welcome', 'already_admitted': 'Already in', 'unknown_code': 'Unknown code', 'wrong_event': 'Another event', 'cancelled': 'Cancelled', 'refunded': 'Refunded',
    'unpaid': 'Not paid', 'blocked': 'Blocked', 'not_yet_valid': 'Too early', 'no_longer_valid': 'Too late', 'event_closed': 'Door closed', 'undone': 'Undone', 'unreachable': 'Not decided', 'refused': 'Not possible',
    'say.already_admitted': '{ago}, at {door}. Ask who came in with it.', 'say.already_here': '{ago}, here at this door. The same ticket read twice?',
    'say.unknown_code': 'Scan again. If it stays so, look for the name.', 'say.wrong_event': 'This ticket is for another event. Send the guest to the help desk.',
    'say.cancelled': 'This ticket is not good any more. Send the guest to the help desk.', 'say.refunded': 'The money went back. Send the guest to the help desk.',
    'say.unpaid': 'Send the guest to the cash desk.', 'say.blocked': 'Ask who runs the event.', 'say.not_yet_valid': 'Ask the guest to come back later.',
    'say.no_longer_valid': 'Its time is over. Send the guest to the help desk.', 'say.event_closed': 'Ask who runs the laptop to open the event.', 'say.undone': 'The guest is not in.',
    'say.unreachable': 'The laptop does not answer. You decide: nothing is checked.', 'say.refused': 'The laptop did not take this: {why}',
    'ago.now': 'just now', 'ago.seconds': '{n} seconds ago', 'ago.minutes': '{n} minutes ago', 'ago.hours': '{n} hours ago',
    'away': 'The laptop is out of reach. Nothing is decided here.', 'away.kept': 'Scans that wait in this phone: {n}. They are sent when it answers.',
    'waiting.title': 'Held: decide when the laptop answers', 'differs.title': 'Let in, but the laptop says otherwise', 'differs.seen': 'Seen',
    'settings.title': 'Settings', 'settings.language': 'Language', 'settings.theme': 'Colours', 'settings.time': 'Show a welcome for', 'settings.sound': 'Sound and vibration',
    'settings.who': 'Signed in as {name}.', 'settings.leave': 'Sign out',
    'theme.auto': 'As the phone', 'theme.light': 'Light', 'theme.dark': 'Dark', 'theme.contrast': 'High contrast',
  },
  'pt-BR': {
    'enter.title': 'Quem está nesta porta?', 'enter.name': 'Seu nome', 'enter.start': 'Começar',
    'enter.how': 'Leia o QR code que o notebook mostra. Ele abre esta página e vale uma vez.',
    'enter.bykey': 'Entrar com uma chave', 'enter.key': 'Chave', 'enter.secret': 'Segredo',
    'enter.wrong': 'Chave ou segredo errado.', 'enter.used': 'Este QR code já foi usado ou é antigo. Peça outro.',
    'enter.ended': 'Este celular não pode mais ler ingressos. Peça um novo QR code.', 'enter.slow': 'Tentativas demais. Espere um minuto.',
    'enter.nodoor': 'Esta chave não é de uma porta.',
    'pick.title': 'Onde você está?', 'pick.event': 'Evento', 'pick.door': 'Porta', 'pick.go': 'Ir para a porta', 'pick.none': 'Nenhum evento próximo. Fale com quem cuida do notebook.',
    'pick.closed': 'fechado para entrada', 'door.first': 'Entrada',
    'menu.open': 'Ajustes', 'close': 'Fechar',
    'count.in': 'Dentro', 'count.expected': 'Esperados', 'count.minute': 'Por minuto',
    'scan.label': 'Leia ou digite um código', 'scan.go': 'Conferir', 'way.camera': 'Câmera', 'way.photo': 'Foto', 'way.search': 'Nome',
    'eye.close': 'Parar a câmera', 'eye.looking': 'Mostre o código para a câmera.', 'eye.none': 'Este celular não tem câmera que a página possa usar.',
    'eye.refused': 'A câmera não está permitida. Permita nos ajustes do navegador para esta página, ou tire uma foto.',
    'eye.busy': 'Outro programa usa a câmera. Feche-o, ou tire uma foto.',
    'eye.http': 'O navegador só dá a câmera a páginas https. Tire uma foto, ou digite o código.',
    'eye.curable': 'A câmera falta porque esta página veio por http: prepare este celular uma vez e leia um novo QR code do notebook, ou tire uma foto.', 'eye.trust': 'Preparar este celular',
    'photo.reading': 'Lendo a foto …', 'photo.none': 'Nenhum código nesta foto. Chegue mais perto e não mexa.', 'photo.wrong': 'Esta foto não pode ser lida.',
    'choose.title': 'Qual código?', 'last.title': 'Últimas leituras', 'last.none': 'Nada lido ainda.', 'doors.title': 'Portas',
    'doors.in': '{n} dentro', 'find.title': 'Procurar pelo nome', 'find.label': 'Nome, ou o fim do telefone', 'find.more': 'Digite mais letras.', 'find.none': 'Ninguém com este nome tem ingresso.',
    'find.many': 'Há mais pessoas. Digite mais letras.', 'find.in': 'dentro desde {time}',
    'undo': 'Desfazer', 'undone.short': 'desfeito', 'next': 'Próximo', 'letin': 'Deixar entrar', 'hold': 'Esperar', 'decide': 'Decidir agora', 'forget': 'Remover',
    'admitted': 'Pode entrar', 'already_admitted': 'Já entrou', 'unknown_code': 'Código desconhecido', 'wrong_event': 'Outro evento', 'cancelled': 'Cancelado', 'refunded': 'Reembolsado',
    'unpaid': 'Não pago', 'blocked': 'Bloqueado', 'not_yet_valid': 'Cedo demais', 'no_longer_valid': 'Tarde demais', 'event_closed': 'Porta fechada', 'undone': 'Desfeito', 'unreachable': 'Sem decisão', 'refused': 'Não foi possível',
    'say.already_admitted': '{ago}, em {door}. Pergunte quem entrou com ele.', 'say.already_here': '{ago}, nesta porta. O mesmo ingresso lido duas vezes?',
    'say.unknown_code': 'Leia de novo. Se continuar, procure pelo nome.', 'say.wrong_event': 'Este ingresso é de outro evento. Mande ao balcão de ajuda.',
    'say.cancelled': 'Este ingresso não vale mais. Mande ao balcão de ajuda.', 'say.refunded': 'O dinheiro foi devolvido. Mande ao balcão de ajuda.',
    'say.unpaid': 'Mande ao caixa.', 'say.blocked': 'Pergunte a quem dirige o evento.', 'say.not_yet_valid': 'Peça que volte mais tarde.',
    'say.no_longer_valid': 'O horário passou. Mande ao balcão de ajuda.', 'say.event_closed': 'Peça a quem cuida do notebook que abra o evento.', 'say.undone': 'A pessoa não está dentro.',
    'say.unreachable': 'O notebook não responde. Você decide: nada foi conferido.', 'say.refused': 'O notebook não aceitou: {why}',
    'ago.now': 'agora mesmo', 'ago.seconds': 'há {n} segundos', 'ago.minutes': 'há {n} minutos', 'ago.hours': 'há {n} horas',
    'away': 'O notebook está fora de alcance. Nada é decidido aqui.', 'away.kept': 'Leituras que esperam neste celular: {n}. Elas vão quando ele responder.',
    'waiting.title': 'Em espera: decida quando o notebook responder', 'differs.title': 'Entraram, mas o notebook diz outra coisa', 'differs.seen': 'Visto',
    'settings.title': 'Ajustes', 'settings.language': 'Idioma', 'settings.theme': 'Cores', 'settings.time': 'Mostrar quem entra por', 'settings.sound': 'Som e vibração',
    'settings.who': 'Você entrou como {name}.', 'settings.leave': 'Sair',
    'theme.auto': 'Como o celular', 'theme.light': 'Claras', 'theme.dark': 'Escuras', 'theme.contrast': 'Alto contraste',
  },
};

let language = 'en';

// preferred is the language that the browser asks for.
export const preferred = () => navigator.languages?.some(l => l.toLowerCase().startsWith('pt')) ? 'pt-BR' : 'en';

// speak chooses the language and writes every sentence of the page in it.
export function speak(name) {
  language = catalogues[name] ? name : 'en';
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll('[data-word]')) element.textContent = say(element.dataset.word);
}

// say is a sentence with its values filled in.
export function say(word, values = {}) {
  const sentence = catalogues[language][word] ?? catalogues.en[word] ?? word;
  return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
}

// ago says how long ago something was.
export function ago(seconds) {
  if (seconds < 5) return say('ago.now');
  if (seconds < 120) return say('ago.seconds', {n: seconds});
  if (seconds < 7200) return say('ago.minutes', {n: Math.round(seconds / 60)});
  return say('ago.hours', {n: Math.round(seconds / 3600)});
}

// clock is a time of day.
export const clock = at => new Date(at).toLocaleTimeString(language, {hour: '2-digit', minute: '2-digit'});
