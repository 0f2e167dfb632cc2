(define (problem sokoban-1)
  (:domain sokoban)
  (:objects c0-0 c1-0 c2-0 c3-0 c0-1 c1-1 c2-1 c3-1 c0-2 c1-2 c2-2 c3-2 - cell up down east west - direction
         b1 - box)
  (:init (next c0-0 c0-1 down) (next c0-0 c1-0 east) (next c1-0 c1-1 down) (next c1-0 c2-0 east) (next c1-0
         c0-0 west) (next c2-0 c2-1 down) (next c2-0 c3-0 east) (next c2-0 c1-0 west) (next c3-0 c3-1 down)
         (next c3-0 c2-0 west) (next c0-1 c0-0 up) (next c0-1 c0-2 down) (next c0-1 c1-1 east) (next c1-1 c1-0
         up) (next c1-1 c1-2 down) (next c1-1 c2-1 east) (next c1-1 c0-1 west) (next c2-1 c2-0 up) (next c2-1
         c2-2 down) (next c2-1 c3-1 east) (next c2-1 c1-1 west) (next c3-1 c3-0 up) (next c3-1 c3-2 down)
         (next c3-1 c2-1 west) (next c0-2 c0-1 up) (next c0-2 c1-2 east) (next c1-2 c1-1 up) (next c1-2 c2-2
         east) (next c1-2 c0-2 west) (next c2-2 c2-1 up) (next c2-2 c3-2 east) (next c2-2 c1-2 west) (next
         c3-2 c3-1 up) (next c3-2 c2-2 west) (player-at c0-0) (at b1 c1-1) (clear c1-0) (clear c2-0) (clear
         c3-0) (clear c0-1) (clear c2-1) (clear c3-1) (clear c0-2) (clear c1-2) (clear c2-2) (clear c3-2))
  (:goal (and (at b1 c3-2))))
