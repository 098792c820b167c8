// A headless Chromium, driven over a pipe by its DevTools protocol: no driver and no package is needed for it.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LIMIT = 60000;

/** Starts one with a profile of its own; close() ends it and removes that. */
export async function startBrowser() {
	const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
	const process = spawn(globalThis.process.env.CHROMIUM || '/usr/bin/chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
		'--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank'],
	{ stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] });
	const waiting = new Map(), listeners = [];
	let number = 0, rest = '', said = '', ended = false;
	process.stderr.on('data', (data) => said += data);
	const end = (why) => {
		ended = true;
		for (const [, { reject }] of waiting)
			reject(new Error(`${why}\n${said}`));
		waiting.clear();
	};
	process.on('error', (error) => end(`Chromium does not start: ${error.message}`));
	process.on('exit', (code) => end(`Chromium has ended with ${code}`));
	process.stdio[3].on('error', () => {});
	process.stdio[4].on('data', (data) => {
		const messages = (rest + data).split('\0');
		rest = messages.pop();
		for (const message of messages.map((m) => JSON.parse(m))) {
			const call = waiting.get(message.id);
			waiting.delete(message.id);
			if (!call)
				listeners.forEach((listener) => listener(message));
			else if (message.error)
				call.reject(new Error(`${call.method}: ${message.error.message}`));
			else
				call.resolve(message.result);
		}
	});
	const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
		if (ended)
			return reject(new Error(`Chromium has ended\n${said}`));
		const id = ++number;
		const timer = setTimeout(() => reject(new Error(`${method}: no answer in ${LIMIT} ms\n${said}`)), LIMIT);
		const done = (then) => (value) => {
			clearTimeout(timer);
			then(value);
		};
		waiting.set(id, { method, resolve: done(resolve), reject: done(reject) });
		process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + '\0');
	});

	/** A tab of its own; what it says on the console and asks of the network is kept. */
	async function openPage(width, height, dark = false) {
		const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
		const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
		const call = (method, params) => send(method, params, sessionId);
		const page = { said: [], asked: [] };
		listeners.push((message) => {
			if (message.sessionId !== sessionId)
				return;
			if (message.method === 'Runtime.exceptionThrown')
				page.said.push(message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text);
			if (message.method === 'Runtime.consoleAPICalled')
				page.said.push(message.params.args.map((a) => a.value ?? a.description).join(' '));
			if (message.method === 'Log.entryAdded')
				page.said.push(message.params.entry.text);
			if (message.method === 'Network.requestWillBeSent')
				page.asked.push(message.params.request.url);
		});
		for (const domain of ['Page', 'Runtime', 'Log', 'Network'])
			await call(`${domain}.enable`);
		await call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 });
		await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });

		/** The value of an expression there; it may be a promise. */
		page.evaluate = async (expression) => {
			const { result, exceptionDetails } = await call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
			if (exceptionDetails)
				throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
			return result.value;
		};
		page.waitFor = async (expression, what = expression) => {
			const until = Date.now() + LIMIT;
			while (!await page.evaluate(expression)) {
				if (Date.now() > until)
					throw new Error(`waited in vain for ${what}`);
				await new Promise((resolve) => setTimeout(resolve, 20));
			}
		};
		page.open = async (url) => {
			// A page of which only the fragment changes is not loaded again.
			await call('Page.navigate', { url: 'about:blank' });
			await page.waitFor('location.href === "about:blank"');
			await call('Page.navigate', { url });
			await page.waitFor(`location.href !== "about:blank" && document.readyState === "complete"`, url);
		};
		page.text = (id) => page.evaluate(`document.getElementById(${JSON.stringify(id)}).textContent`);
		page.press = async (key, { shift = false, text = undefined, code = undefined } = {}) => {
			const codes = { Tab: 9, Enter: 13, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Home: 36, End: 35 };
			const params = { key, code: code ?? key, windowsVirtualKeyCode: codes[key], modifiers: shift ? 8 : 0, text: text ?? (key === 'Enter' ? '\r' : undefined) };
			await call('Input.dispatchKeyEvent', { type: params.text ? 'keyDown' : 'rawKeyDown', ...params });
			await call('Input.dispatchKeyEvent', { type: 'keyUp', ...params });
		};
		page.zone = (timezoneId) => call('Emulation.setTimezoneOverride', { timezoneId });
		/** What is in the file that a link saves, once it is there. */
		page.save = async (id, name) => {
			const folder = mkdtempSync(join(profile, 'saved-'));
			await send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder });
			await page.evaluate(`document.getElementById(${JSON.stringify(id)}).click()`);
			for (const until = Date.now() + LIMIT; !existsSync(join(folder, name));) {
				if (Date.now() > until)
					throw new Error(`${name} is not saved`);
				await new Promise((resolve) => setTimeout(resolve, 20));
			}
			return readFileSync(join(folder, name), 'utf8');
		};
		page.type = (text) => call('Input.insertText', { text });
		page.screenshot = async () => {
			const { cssContentSize } = await call('Page.getLayoutMetrics');
			const { data } = await call('Page.captureScreenshot', { captureBeyondViewport: true, clip: { x: 0, y: 0, width, height: Math.max(height, cssContentSize.height), scale: 1 } });
			return Buffer.from(data, 'base64');
		};
		page.accessibility = () => call('Accessibility.getFullAXTree');
		page.close = () => send('Target.closeTarget', { targetId });
		return page;
	}

	return {
		openPage,
		async close() {
			const gone = new Promise((resolve) => process.once('exit', resolve));
			if (!ended) {
				process.kill('SIGKILL');
				await gone;
			}
			rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
		},
	};
}
