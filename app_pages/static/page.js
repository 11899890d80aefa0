// What pages do in a browser, besides what Streamlit does. It stands in the head of each page, by which
// it is the same for everybody: the content security policy names it by its digest.

// Of quick clicks on a link the first one leads on: the next page has something else in the same place.
(() => {
    let isLink = false
    document.addEventListener('click', clicked => {
        if (!clicked.isTrusted) return  // one of this script's own
        if (clicked.detail < 2) isLink = clicked.target.closest?.('a[href]') != null
        else if (isLink) {
            clicked.preventDefault()
            clicked.stopImmediatePropagation()
        }
    }, true)
})();

// On a narrow screen the navigation is a drawer, which Streamlit leaves open over the page that was
// chosen in it.
(() => {
    document.addEventListener('click', clicked => {
        if (!clicked.target.closest('[data-testid="stSidebarNavLink"]')) return
        const close = document.querySelector('[data-testid="stSidebarCollapseButton"] button')
        if (close !== null) setTimeout(() => close.click())
    })
})();

// Streamlit puts what a button opens at the end of the page, so that Tab would come to it last. So the
// focus moves into it when the keyboard opens it; Escape moves it back to the button, some frames
// later. When a card is drawn for another row, or a form again after an act, its former buttons are
// gone, and Tab would begin at the top of the page. So the card gets the focus, or what is still open,
// or the comparison that was asked for there, and anywhere else what the button stood in, or the one
// that had opened it: never another button, since a reader who still presses Enter meant this one.
(() => {
    const enter = (opener, wanted, frames) => {
        if (document.activeElement !== opener) return
        const opened = document.querySelector('[data-testid="stPopoverBody"]')
        const first = opened?.querySelector('input, textarea, button, a[href], [tabindex="0"]')
        const isThere = first && !opened.querySelector('[data-testid="stSkeleton"]')
        if (!isThere) return frames && requestAnimationFrame(() => enter(opener, wanted, frames - 1))
        if (first.matches(wanted)) first.focus()
    }
    const opens = it => it?.getAttribute('aria-expanded') === 'true'
    document.addEventListener('keyup', pressed => {
        if (pressed.key !== 'Enter' && pressed.key !== ' ') return
        const opener = pressed.target.closest('[data-testid="stPopoverButton"]')
        if (opens(opener)) enter(opener, '*', 300)  // until it is drawn
    })
    // Who opens it by the mouse to write why can write at once; a keyboard of glass would hide the rest.
    document.addEventListener('click', ({target}) => {
        const opener = target.closest('[data-testid="stPopoverButton"]')
        if (!opener || matchMedia('(pointer: coarse)').matches) return
        setTimeout(() => opens(opener) && enter(opener, 'input[type="text"], textarea', 300))
    })
    // On a busy machine the form may come after the first letter.
    document.addEventListener('keydown', pressed => {
        const isLetter = pressed.key.length === 1 && pressed.key !== ' ' && !pressed.ctrlKey && !pressed.metaKey
        const isOpener = pressed.target.matches('[data-testid="stPopoverButton"]')
        if (isLetter && isOpener && opens(pressed.target)) enter(pressed.target, 'input[type="text"], textarea', 0)
    }, true)
    const places = ['[data-testid="stPopoverBody"]', '.st-key-compared', '.st-key-card']
    let was = null, place = -1, around = [], byKeys = false
    document.addEventListener('keydown', () => { byKeys = true }, true)
    document.addEventListener('pointerdown', () => { byKeys = false }, true)
    document.addEventListener('focusin', ({target}) => {
        was = target
        place = places.findIndex(it => target.closest(it))
        const isOpened = target.closest(places[0])
        let it = isOpened && document.querySelector('[data-testid="stPopoverButton"][aria-expanded="true"]')
            || target
        if (isOpened && it === target) return  // what it was opened by stays known
        around = []
        while ((it = it.parentElement?.closest('[data-testid="stMain"] *'))) around.push(it)
    })
    const isGone = () => was && (!was.isConnected || was.matches('button:disabled'))
    const isLost = () => isGone() && document.activeElement === document.body
    const follow = (frames = 300) => {
        if (!isLost()) return
        const known = place < 0 ? [] : places.slice(place).map(it => document.querySelector(it))
        const there = known.find(it => it?.isConnected)
        // A list with its card is drawn by itself, a moment after what stands above it.
        if (!there && place > 0 && frames) return void requestAnimationFrame(() => follow(frames - 1))
        const now = there ?? around.find(it => it.isConnected)
        if (!now) return
        now.tabIndex = -1
        now.focus({preventScroll: true})
    }
    const later = (act, frames) =>
        requestAnimationFrame(() => frames ? later(act, frames - 1) : act())
    new MutationObserver(() => {
        if (place > 0 && isLost()) follow()
        else if (isGone() && (byKeys || place > 0)) for (const it of [3, 30]) later(follow, it)
    }).observe(document.documentElement, {childList: true, subtree: true, attributeFilter: ['disabled']})
})();

// What a button opens is placed above or below the button, whatever room is left there: where that is not
// enough, it is moved into sight; on a phone it has its own place. What a press found wrong there, in a card
// or in a form of the page, is scrolled to, and the keyboard is in the field of the form above that.
(() => {
    const opened = '[data-testid="stPopoverBody"]', form = '[data-testid="stForm"]'
    const card = '.st-key-card', said = `:is(${opened}, ${form}, ${card}) [data-testid="stAlert"]`
    const edge = 8
    const move = it => {
        const {top, bottom} = it.getBoundingClientRect()
        const now = parseFloat(it.style.translate.split(' ')[1]) || 0
        const wanted = Math.max(edge - top + now, Math.min(0, innerHeight - edge - bottom + now))
        if (Math.abs(wanted - now) > 0.5) it.style.translate = `0 ${wanted}px`
    }
    const all = () => {
        if (!matchMedia('(max-width: 640px)').matches) document.querySelectorAll(opened).forEach(move)
    }
    const resized = new ResizeObserver(all)
    let isPressed = false
    document.addEventListener('click', ({target}) => {
        isPressed = target.closest(`[data-testid="stFormSubmitButton"], ${card} button`) !== null
    }, true)
    document.addEventListener('keydown', ({key, target}) => {
        if (key === 'Enter' && target.closest(`${opened}, ${form}`)) isPressed = true
    }, true)
    new MutationObserver(changes => {
        for (const it of document.querySelectorAll(opened)) resized.observe(it)
        all()
        if (!isPressed) return
        const news = changes.flatMap(it => [...it.addedNodes]).filter(it => it.nodeType === 1)
        const wrong = news.map(it => it.matches(said) ? it : it.querySelector(said)).find(it => it)
        if (!wrong) return
        isPressed = false
        wrong.scrollIntoView({block: 'nearest'})
        if (!wrong.closest(`${opened}, ${form}`)) return
        const before = wrong.closest('[data-testid="stElementContainer"]').previousElementSibling
        before?.querySelector('input, textarea, button')?.focus()
    }).observe(document.documentElement, {childList: true, subtree: true, attributeFilter: ['style']})
})();

// What was just changed is in sight, though the form that changed it is gone.
(() => {
    let seen = null
    new MutationObserver(() => {
        const mark = document.querySelector('.prazo-look')
        if (!mark || mark.dataset.n === seen) return
        seen = mark.dataset.n
        document.getElementById(mark.dataset.at)?.scrollIntoView()
    }).observe(document.documentElement, {childList: true, subtree: true, attributeFilter: ['data-n']})
})();

// A figure's way to its rows leads into their list, which stands elsewhere on the page or on another: once the
// script that it starts has ended. Any other click meanwhile is where the reader goes on.
(() => {
    const ways = {
        '[class*="st-key-rows"]': '#rows, .st-key-filters',
        '.st-key-quarantine a': '#quarantine',
    }
    let into = null, isRunning = false
    document.addEventListener('click', ({target}) => {
        into = ways[Object.keys(ways).find(it => target.closest(it))] ?? null
        isRunning = false
    }, true)
    new MutationObserver(() => {
        const state = document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState
        if (into === null || !(isRunning ||= state === 'running') || state !== 'notRunning') return
        document.querySelector(into)?.scrollIntoView()
        into = null
    }).observe(document.documentElement, {subtree: true, attributeFilter: ['data-test-script-state']})
})();

// Streamlit's own shortcuts press buttons, and take no `/`. In a field, `/` is what is typed, but as the
// first thing in the box itself, where the focus is left by what was found.
(() => {
    const box = () => document.querySelector('.st-key-find input')
    const isWritten = it => it.matches('input, textarea, select, [contenteditable]') && !(it === box() && !it.value)
    document.addEventListener('keydown', pressed => {
        const {key, target} = pressed, isChord = pressed.ctrlKey || pressed.metaKey
        const isSlash = key === '/' && !isChord && !pressed.altKey && !isWritten(target)
        if (isSlash || isChord && !pressed.altKey && key.toLowerCase() === 'k') {
            if (box() === null) return
            pressed.preventDefault()
            box().focus()
            box().select()
            return
        }
        if (!target.closest('.st-key-search')) return
        if (key === 'Escape') document.querySelector('.st-key-found_closed button')?.click()
        const step = {ArrowDown: 1, ArrowUp: -1}[key]
        const ways = [box(), ...document.querySelectorAll('.st-key-found a[href]')]
        if (step === undefined || ways.length === 1) return
        pressed.preventDefault()
        ways.at((ways.indexOf(document.activeElement) + step) % ways.length).focus()
    }, true)
})();

// From the head of a page to the rows of its list, past all filters; before that, Streamlit's link past the
// navigation, in the language of the page.
(() => {
    document.addEventListener('click', ({target}) => {
        if (!target.closest('.prazo-skip')) return
        const mark = document.querySelector('.prazo-chosen').closest('[data-testid="stElementContainer"]')
        mark.nextElementSibling?.querySelector('canvas')?.focus()
    })
    new MutationObserver(() => {
        const past = document.querySelector('[data-testid="stSkipToContent"]')
        const said = document.querySelector('.prazo-skip')?.dataset.main
        if (past && said && past.textContent !== said) past.textContent = said
    }).observe(document.documentElement, {childList: true, subtree: true, attributeFilter: ['data-main']})
})();

// What was just done is taken back by the keys that do so everywhere: its button stands far from where
// the keyboard is, and not for long. An icon beside words says nothing that they do not: a screen reader
// spelled its name, in English.
(() => {
    document.addEventListener('keydown', pressed => {
        const isUndo = (pressed.ctrlKey || pressed.metaKey) && !pressed.shiftKey && pressed.key === 'z'
        const button = document.querySelector('.st-key-done button')
        if (!isUndo || !button || pressed.target.matches('input, textarea, [contenteditable]')) return
        pressed.preventDefault()
        button.click()
    })
    const icons = '[data-testid="stMarkdownContainer"] [role="img"][translate="no"]:not([aria-hidden])'
    const spelled = 'button[aria-label*=":material/"]'
    const dropped = '[data-testid="stFileUploaderDropzone"][role="presentation"]'  // it has a name
    const openers = '.st-key-card [data-testid="stPopoverButton"]'
    const named = it => it.querySelector('p')?.innerText.trim() ?? ''
    const processOf = it => {
        const link = it && it.querySelector('a[href*="process="] p')
        return !it || link ? link?.innerText.trim() ?? '' : processOf(it.parentElement)
    }
    // Of several reviews on one card, each has the same buttons: to the ear they are about its process.
    const nameApart = () => {
        const all = [...document.querySelectorAll(openers)]
        for (const it of all) {
            const process = all.some(other => other !== it && named(other) === named(it)) ? processOf(it) : ''
            const name = process && !/\s/.test(process) ? `${named(it)}: ${process}` : null
            if (it.ariaLabel !== name) it.ariaLabel = name
        }
    }
    // So have the charts of a page: to the ear they are about what stands above them.
    const nameBehind = () => {
        let heading = ''
        for (const it of document.querySelectorAll('[data-testid="stMain"] h2, [class*="st-key-behind_"] summary')) {
            const text = (it.querySelector('p') ?? it).textContent.trim()
            if (it.matches('h2')) heading = text
            else if (it.ariaLabel !== `${text}: ${heading}`) it.ariaLabel = `${text}: ${heading}`
        }
    }
    new MutationObserver(() => {
        for (const it of document.querySelectorAll(icons)) it.ariaHidden = true
        for (const it of document.querySelectorAll(dropped)) it.role = 'group'
        for (const it of document.querySelectorAll(spelled)) {
            it.ariaLabel = it.ariaLabel.replace(/:material\/\w+: ?/g, '')
        }
        // Streamlit names a toast after an element that it does not draw.
        for (const it of document.querySelectorAll('[data-testid="stToast"]:not([aria-label])')) {
            it.removeAttribute('aria-labelledby')
            it.ariaLabel = (it.querySelector('[data-testid="stMarkdownContainer"]') ?? it).innerText.trim()
        }
        nameApart()
        nameBehind()
    }).observe(document.documentElement, {childList: true, subtree: true})
})();

// Links are left out of a printed page, but for ids: they are one word, and it is of them that a list of
// links speaks.
addEventListener('beforeprint', () => {
    for (const it of document.querySelectorAll('[data-testid="stMain"] [data-testid="stPageLink"]')) {
        it.classList.toggle('prazo-id', !/\s/.test(it.querySelector('p')?.textContent ?? ' '))
    }
});

// A note that is half written would be lost without a word where the page is loaded again or left.
addEventListener('beforeunload', event => {
    const written = [...document.querySelectorAll('[data-testid="stForm"] textarea')]
    if (written.some(it => it.value.trim())) event.preventDefault()
});

// The link to the page is copied in an old way: the newer one works only on pages that came over TLS.
(() => {
    document.addEventListener('click', clicked => {
        const button = clicked.target.closest('.st-key-copy_link button')
        if (button === null) return
        const typed = document.createElement('textarea')
        typed.value = location.href
        document.body.append(typed)
        typed.select()
        document.execCommand('copy')
        typed.remove()
        button.focus({preventScroll: true})
    }, true)
})();

// What is a picture to those who see it says its name under the pointer.
document.addEventListener('pointerover', ({target}) => {
    const pictures = '.st-key-filters [data-testid="stPopoverButton"], .st-key-choices summary'
    const button = target.closest?.(pictures)
    if (button) button.title = button.querySelector('p')?.innerText ?? ''
});

// The chosen row of a list is marked from end to end. A grid is a picture that marks single cells, so
// this lies over it, follows what is scrolled, and ends where the heads of the columns begin.
(() => {
    const place = mark => {
        const grid = mark.closest('[data-testid="stElementContainer"]').nextElementSibling
            ?.querySelector('[data-testid="stDataFrame"]')
        if (!grid) return
        const head = Math.round(2.1875 * parseFloat(getComputedStyle(document.documentElement).fontSize))
        const {row, height} = {row: mark.dataset.row, height: 36}
        const scrolled = grid.querySelector('.dvn-scroller')?.scrollTop ?? 0
        const top = head + height * row - scrolled
        const seen = [Math.max(top, head), Math.min(top + height, grid.clientHeight)]
        grid.toggleAttribute('data-chosen', row !== '' && seen[1] > seen[0])
        grid.style.setProperty('--row-top', `${seen[0]}px`)
        grid.style.setProperty('--row-height', `${seen[1] - seen[0]}px`)
    }
    const all = () => document.querySelectorAll('.prazo-chosen').forEach(place)
    new MutationObserver(all).observe(document.documentElement, {childList: true, subtree: true})
    document.addEventListener('scroll', ({target}) => {
        if (target.matches?.('.dvn-scroller')) all()
    }, true)
})();

// Adds instant, zone and language to a link's address once somebody points at it, so that a new tab
// shows the same instant. The page cannot add them itself: within a session Streamlit carries them to
// the next page, and they would be there twice.
(() => {
    const carry = reached => {
        const link = reached.target.closest?.(`[data-testid*="NavLink"][href]`)
        if (!link) return
        const address = new URL(link.href), here = new URLSearchParams(location.search)
        for (const key of ['as_of', 'tz', 'lang']) {
            if (here.has(key)) address.searchParams.set(key, here.get(key))
            else address.searchParams.delete(key)
        }
        if (address.href !== link.href) link.href = address.href
    }
    for (const way of ['pointerover', 'pointerdown', 'focusin']) {
        document.addEventListener(way, carry, true)
    }
})();

// A menu of the header is open until something is done in it, or asked for elsewhere. What is chosen in
// one from a list stands outside of the page.
(() => {
    const menus = () => document.querySelectorAll('.st-key-choices details[open]')
    const close = it => it.querySelector('summary').click()
    for (const way of ['pointerdown', 'focusin']) {
        document.addEventListener(way, ({target}) => {
            if (!target.closest?.('#root')) return
            for (const it of menus()) if (!it.contains(target)) close(it)
        }, true)
    }
    document.addEventListener('click', ({target}) => {
        if (!target.closest('.st-key-choices [data-testid="stButton"]')) return
        for (const it of menus()) {
            if (it.contains(target)) it.querySelector('summary').focus()
            setTimeout(() => close(it))
        }
    })
    // Who opens the one that asks who they are, by the mouse, can write at once.
    document.addEventListener('click', ({target}) => {
        const menu = target.closest('summary')?.closest('.st-key-menu_you details')
        const begin = frames => {
            const field = menu.querySelector('[data-testid="stTextInput"] input')
            if (menu.open && field?.checkVisibility()) field.focus()
            else if (frames) requestAnimationFrame(() => begin(frames - 1))
        }
        if (menu && !matchMedia('(pointer: coarse)').matches) setTimeout(() => begin(60))
    })
    // Streamlit closes a part whose label has changed, with whatever had the focus in it.
    let last = null
    document.addEventListener('focusin', ({target}) => {
        last = target.closest?.('.st-key-choices details') ?? null
    })
    new MutationObserver(() => {
        if (last && !last.open && document.activeElement === document.body) {
            last.querySelector('summary')?.focus()
        }
    }).observe(document.documentElement, {attributeFilter: ['open', 'inert'], subtree: true})
    document.addEventListener('keydown', ({key, target}) => {
        const isDone = key === 'Escape' || key === 'Enter' && target.closest?.('.st-key-as_of')
        const menu = isDone && target.closest?.('.st-key-choices details[open]')
        if (!menu) return
        menu.querySelector('summary').focus()
        setTimeout(() => close(menu))
    })
})();

// Whoever clicks or types sees that it is worked on, if that takes a moment; what pages do by
// themselves is not said.
(() => {
    const isRunning = () =>
        document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'running'
    let looks = 0
    const look = () => {
        looks -= 1
        const goesOn = isRunning()
        document.documentElement.classList.toggle('prazo-asked', goesOn)
        if (goesOn) looks = 2
        if (looks > 0) setTimeout(look, 150)
    }
    const asked = () => {
        if (looks <= 0) setTimeout(look, 150)
        looks = 3
    }
    for (const way of ['click', 'change', 'keyup']) document.addEventListener(way, asked, true)
})();

// What a page shows while it works, or has no server to ask, is said to the ear, too. Of a server that
// is away the page speaks at once and in its language: Streamlit's own dialog, which would lie over
// what somebody reads, does neither.
(() => {
    const region = document.createElement('div')
    region.className = 'prazo-said'
    region.setAttribute('role', 'status')
    const words = key => [...document.querySelector(`.st-key-${key} p`)?.childNodes ?? []]
        .filter(it => !it.matches?.('[role="img"]')).map(it => it.textContent).join('').trim()
    const said = () => {
        const state = document.querySelector('[data-testid="stApp"]')?.dataset.testConnectionState
        if (state !== 'CONNECTED' && words('away')) {
            document.querySelector('[data-testid="stDialog"] section > button')?.click()
            return words('away')
        }
        return document.documentElement.classList.contains('prazo-asked') ? words('working') : ''
    }
    document.addEventListener('DOMContentLoaded', () => {
        document.body.append(region)
        setInterval(() => {
            const now = said()
            if (region.textContent !== now) region.textContent = now
        }, 1000)
    })
})();
