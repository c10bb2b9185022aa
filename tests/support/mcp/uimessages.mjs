// The AI SDK, asked line by line: checks UIMessages, and lets a scripted model talk. Run where `ai` is installed:
// `node --input-type=module -e "$(cat uimessages.mjs)"`, for modules are looked for beside the script.
import { createInterface } from 'node:readline';
import { convertToModelMessages, isStepCount, jsonSchema, readUIMessageStream, streamText, tool, validateUIMessages } from 'ai';
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';

const usage = { inputTokens: { total: 3 }, outputTokens: { total: 4 } };
const sealed = { anthropic: { signature: 'SIG' } };
const steps = [
  [
    { type: 'reasoning-start', id: 'r' },
    { type: 'reasoning-delta', id: 'r', delta: 'hm' },
    { type: 'reasoning-end', id: 'r', providerMetadata: sealed },
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'One moment.' },
    { type: 'text-end', id: 't' },
    { type: 'tool-call', toolCallId: 'c4', toolName: 'depth', input: '{"pier":4}' },
    { type: 'tool-call', toolCallId: 'c5', toolName: 'depth', input: '{"pier":5}' },
    { type: 'tool-call', toolCallId: 'c6', toolName: 'depth', input: '{"pier":' },
    { type: 'finish', usage, finishReason: { unified: 'tool-calls', raw: 'tool_use' } },
  ],
  [
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'Six.' },
    { type: 'text-end', id: 't' },
    { type: 'source', sourceType: 'url', id: 's', url: 'https://harbour.example', title: 'Harbour' },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw==' } },
    { type: 'finish', usage, finishReason: { unified: 'stop', raw: 'end_turn' } },
  ],
];

async function talk() {
  const depth = tool({
    inputSchema: jsonSchema({ type: 'object', properties: { pier: { type: 'integer' } } }),
    execute: async ({ pier }) => {
      if (pier === 5) throw new Error('no such pier');
      return { metres: pier + 2 };
    },
  });
  const model = new MockLanguageModelV4({
    doStream: steps.map((chunks) => ({ stream: simulateReadableStream({ chunks, chunkDelayInMs: null }) })),
  });
  const asked = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Depth?' }] };
  const messages = await convertToModelMessages([asked]);
  const result = streamText({ model, messages, tools: { depth }, stopWhen: isStepCount(3) });
  const stream = result.toUIMessageStream({ originalMessages: [asked], sendSources: true, onError: (e) => e.message });
  let last;
  for await (const message of readUIMessageStream({ stream })) last = message;
  return [asked, { ...last, id: 'a1' }];
}

async function check(messages) {
  const found = await validateUIMessages({ messages });
  return (await convertToModelMessages(found)).map((message) => message.role);
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let said;
  try {
    said = asked.do === 'talk' ? await talk() : await check(asked.messages);
  } catch (problem) {
    said = { error: String(problem) };
  }
  console.log(JSON.stringify(said));
}
