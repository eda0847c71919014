(** The updates of linearised ADMM, its proximal maps, the gradients and Algorithms 1 and 2 of [CL20] as a whole,
    written once for any number system, formula by formula as in the Python reference. Batches and noise are inputs.
    The theorems use the real numbers; [Rationals.v] runs the same text on rationals and shows that both agree. *)

From Coq Require Import Reals Lra Lia ZArith List.
From DPADMM Require Import Vectors.

(** What the formulas need of a number system. *)
Record numbers := Numbers {
  number :> Type;
  of_nat : nat -> number;
  add : number -> number -> number;
  sub : number -> number -> number;
  mul : number -> number -> number;
  div : number -> number -> number;
  opp : number -> number;
  greater : number -> number -> bool;
  of_int : Z -> number;
  floor : number -> Z;
}.

Section Formulas.
Variable K : numbers.
Local Notation "0" := (of_nat K 0).
Local Notation "1" := (of_nat K 1).
Local Notation "2" := (of_nat K 2).
Local Infix "+" := (add K).
Local Infix "-" := (sub K).
Local Infix "*" := (mul K).
Local Infix "/" := (div K).
Local Notation "- a" := (opp K a).

Definition maximum (a b : K) : K := if greater K a b then a else b.
Definition minimum (a b : K) : K := if greater K b a then a else b.
Definition absolute (a : K) : K := maximum a (- a).

(** reference/regularizers: the proximal maps, for one coordinate. *)
Definition soft_threshold (w t : K) : K := maximum (w - t) 0 - maximum (- w - t) 0.
Definition prox_none (w rho : K) : K := w.
Definition prox_l1 (lam w rho : K) : K := soft_threshold w (lam / rho).
Definition prox_elastic_net (lam r w rho : K) : K :=
  soft_threshold w (lam * r / rho) / (1 + lam * (1 - r) / rho).
Definition prox_scad (lam a w rho : K) : K :=
  let tau := 1 / rho in
  let shift := a * lam * tau in
  let bent := ((a - 1) * w - (if greater K w 0 then shift else - shift)) / (a - 1 - tau) in
  if greater K (absolute w) (a * lam) then w
  else if greater K (absolute w) (lam * (1 + tau)) then bent
  else soft_threshold w (tau * lam).
Definition prox_mcp (lam gamma w rho : K) : K :=
  let tau := 1 / rho in
  if greater K (absolute w) (gamma * lam) then w
  else soft_threshold w (tau * lam) / (1 - tau / gamma).

(** One of them in every coordinate; and groups of coordinates, each shrunk by its length ([size] of its entries). *)
Definition coordinatewise (prox : K -> K -> K) (w : nat -> K) (rho : K) (i : nat) : K := prox (w i) rho.
Definition prox_group (size : list K -> K) (lam : K) (groups : list (list nat)) (w : nat -> K) (rho : K) (i : nat) : K :=
  match find (existsb (Nat.eqb i)) groups with
  | None => w i
  | Some group =>
      let t := lam / rho in
      let norm := size (map w group) in
      w i * (if greater K norm t then 1 - t / norm else 0)
  end.

(** reference/updates.py, for one coordinate. *)
Definition update_x (g x z y rho eta : K) : K := (- g - y + rho * z + x / eta) / (rho + 1 / eta).
Definition update_z (prox : K -> K -> K) (x y rho : K) : K := prox (x + y / rho) rho.
Definition update_y (y x z rho : K) : K := y + rho * (x - z).

(** reference/losses.py: the slope of the huberized hinge at a margin. *)
Definition huber_slope (h margin : K) : K := - minimum (maximum (1 + h - margin) 0) (2 * h) / (2 * h).

(** reference/clipping.py: the slope of a record of this norm, shrunk so that its gradient is no longer than bound. *)
Definition clipped_slope (slope norm bound : K) : K :=
  let too_long := greater K (absolute slope * norm) bound in
  let allowed := bound / (if too_long then norm else 1) in
  if too_long then (if greater K slope 0 then allowed else - allowed) else slope.

(** Vectors are functions on indices; [total n f] is f 0 + ... + f (n-1). *)
Fixpoint total (n : nat) (f : nat -> K) : K :=
  match n with
  | O => 0
  | S k => total k f + f k
  end.

(** The mean of n vectors. *)
Definition mean (n : nat) (g : nat -> nat -> K) (i : nat) : K := total n (fun r => g r i) / of_nat K n.

(** reference/problem.py: the gradient of one record, and the mean gradient over n records. A record is the vector
    label * features, of which the first p entries count. *)
Definition huber_gradient (h : K) (p : nat) (record x : nat -> K) (i : nat) : K :=
  huber_slope h (total p (fun j => record j * x j)) * record i.
Definition huber_mean_gradient (h : K) (p n : nat) (data : nat -> nat -> K) (x : nat -> K) : nat -> K :=
  mean n (fun r => huber_gradient h p (data r) x).

Record state := State { state_x : nat -> K; state_z : nat -> K; state_y : nat -> K }.

(** Lines 5 to 7 of Algorithm 2: the new x, z and y before noise, for a gradient g and any proximal map. *)
Definition step_x (rho eta : K) (g : nat -> K) (old : state) : nat -> K :=
  fun i => update_x (g i) (state_x old i) (state_z old i) (state_y old i) rho eta.
Definition step_w (rho : K) (x : nat -> K) (old : state) : nat -> K := fun i => x i + state_y old i / rho.
Definition step_y (rho : K) (x z : nat -> K) (old : state) : nat -> K :=
  fun i => update_y (state_y old i) (x i) (z i) rho.

(** reference/problem.py: a record is its norm and the vector label * features, of which the first p entries count. *)
Definition signed_record (size : list K -> K) (p : nat) (label : K) (features : nat -> K) : K * (nat -> K) :=
  (size (map features (seq O p)), fun i => label * features i).

(** The mean gradient over any loss of the margin, with or without clipping. *)
Definition record_slope (slope : K -> K) (clip : option K) (norm margin : K) : K :=
  match clip with None => slope margin | Some bound => clipped_slope (slope margin) norm bound end.
Definition record_gradient (slope : K -> K) (clip : option K) (p : nat) (record : K * (nat -> K)) (x : nat -> K)
    (i : nat) : K :=
  record_slope slope clip (fst record) (total p (fun j => snd record j * x j)) * snd record i.
Definition mean_gradient {A : Type} (gradient : A -> (nat -> K) -> nat -> K) (records : list A) (x : nat -> K) : nat -> K :=
  mean (length records) (fun r => match nth_error records r with Some d => gradient d x | None => fun _ => 0 end).

(** The records at these positions. *)
Definition picked {A : Type} (data : list A) (batch : list nat) : list A :=
  flat_map (fun j => match nth_error data j with Some d => d :: nil | None => nil end) batch.

(** reference/rounding.py: the nearest multiple of the grid, halves to even; without a grid the value itself. *)
Definition half_even (a : K) : Z :=
  let below := floor K a in
  let rest := a - of_int K below in
  if greater K rest (1 / 2) then (below + 1)%Z
  else if greater K (1 / 2) rest then below
  else if Z.even below then below else (below + 1)%Z.
Definition on_grid (grid : option K) (u : nat -> K) (i : nat) : K :=
  match grid with None => u i | Some g => of_int K (half_even (u i / g)) * g end.

(** The first p coordinates of a value, rounded to the grid, with noise. *)
Definition perturbed (p : nat) (grid : option K) (u noise : nat -> K) (i : nat) : K :=
  if (i <? p)%nat then on_grid grid u i + noise i else 0.

(** reference/ssadmm.py: perturb the gradient; x, z and y follow. Lines 5 to 9 of Algorithm 1. *)
Definition iteration (prox : (nat -> K) -> K -> nat -> K) (rho : K) (p : nat) (grid : option K) (eta : K)
    (gradient : (nat -> K) -> nat -> K) (noise : nat -> K) (old : state) : state :=
  let g := perturbed p grid (gradient (state_x old)) noise in
  let x := step_x rho eta g old in
  let z := prox (step_w rho x old) rho in
  State x z (step_y rho x z old).

(** reference/mpadmm.py, release = all: compute x, z, y; then perturb all three. *)
Definition epoch_all (prox : (nat -> K) -> K -> nat -> K) (rho : K) (p : nat) (grid : option K) (eta : K)
    (gradient : (nat -> K) -> nat -> K) (noise old : state) : state :=
  let x := step_x rho eta (gradient (state_x old)) old in
  let z := prox (step_w rho x old) rho in
  let y := step_y rho x z old in
  State (perturbed p grid x (state_x noise)) (perturbed p grid z (state_z noise)) (perturbed p grid y (state_y noise)).

(** reference/mpadmm.py, release = primal: perturb x alone; z and y follow from the noisy x. *)
Definition epoch_primal (prox : (nat -> K) -> K -> nat -> K) (rho : K) (p : nat) (grid : option K) (eta : K)
    (gradient : (nat -> K) -> nat -> K) (noise : nat -> K) (old : state) : state :=
  let x := perturbed p grid (step_x rho eta (gradient (state_x old)) old) noise in
  let z := prox (step_w rho x old) rho in
  State x z (step_y rho x z old).

(** The state after all steps, and the states after each, for the inputs of the steps (newest first); step k is the
    one that k inputs precede. *)
Fixpoint last_state {Y : Type} (step : nat -> Y -> state -> state) (start : state) (inputs : list Y) : state :=
  match inputs with nil => start | y :: earlier => step (length earlier) y (last_state step start earlier) end.
Fixpoint all_states {Y : Type} (step : nat -> Y -> state -> state) (start : state) (inputs : list Y) : list state :=
  match inputs with nil => nil | _ :: earlier => last_state step start inputs :: all_states step start earlier end.

(** Algorithms 1 and 2: all iterates, newest first, for step sizes eta 0, eta 1, ..., and for batches and noise. *)
Definition ssadmm {A : Type} (prox : (nat -> K) -> K -> nat -> K) (rho : K) (p : nat) (grid : option K) (eta : nat -> K)
    (gradient : A -> (nat -> K) -> nat -> K) (data : list A) (start : state) (inputs : list (list nat * (nat -> K))) :
    list state :=
  all_states (fun k input =>
    iteration prox rho p grid (eta k) (mean_gradient gradient (picked data (fst input))) (snd input)) start inputs.
Definition mpadmm_all {A : Type} (prox : (nat -> K) -> K -> nat -> K) (rho : K) (p : nat) (grid : option K)
    (eta : nat -> K) (gradient : A -> (nat -> K) -> nat -> K) (data : list A) (start : state) (noise : list state) :
    list state :=
  all_states (fun k => epoch_all prox rho p grid (eta k) (mean_gradient gradient data)) start noise.
Definition mpadmm_primal {A : Type} (prox : (nat -> K) -> K -> nat -> K) (rho : K) (p : nat) (grid : option K)
    (eta : nat -> K) (gradient : A -> (nat -> K) -> nat -> K) (data : list A) (start : state) (noise : list (nat -> K)) :
    list state :=
  all_states (fun k => epoch_primal prox rho p grid (eta k) (mean_gradient gradient data)) start noise.

End Formulas.

Open Scope R_scope.

(** The real numbers as a number system. *)
Definition real_greater (a b : R) : bool := if Rlt_dec b a then true else false.
Definition real_floor (a : R) : Z := (up a - 1)%Z.
Definition reals : numbers := Numbers R INR Rplus Rminus Rmult Rdiv Ropp real_greater IZR real_floor.

(** The Euclidean length. *)
Definition real_length (l : list R) : R := sqrt (fold_right (fun a s => a * a + s) 0 l).

(** The formulas above, on the reals, in the usual notation. *)
Lemma greater_true a b : greater reals a b = true <-> b < a.
Proof. simpl; unfold real_greater; destruct (Rlt_dec b a); split; intros; try lra; easy. Qed.

Lemma greater_false a b : greater reals a b = false <-> a <= b.
Proof. simpl; unfold real_greater; destruct (Rlt_dec b a); split; intros; try lra; easy. Qed.

Lemma maximum_real (a b : R) : maximum reals a b = Rmax a b.
Proof.
  unfold maximum. destruct (greater reals a b) eqn:E.
  - apply greater_true in E. rewrite Rmax_left; lra.
  - apply greater_false in E. rewrite Rmax_right; lra.
Qed.

Lemma minimum_real (a b : R) : minimum reals a b = Rmin a b.
Proof.
  unfold minimum. destruct (greater reals b a) eqn:E.
  - apply greater_true in E. rewrite Rmin_left; lra.
  - apply greater_false in E. rewrite Rmin_right; lra.
Qed.

Lemma absolute_real (a : R) : absolute reals a = Rabs a.
Proof.
  unfold absolute. rewrite maximum_real. simpl.
  destruct (Rle_dec 0 a); [rewrite Rmax_left, Rabs_right | rewrite Rmax_right, Rabs_left]; lra.
Qed.

Lemma soft_threshold_real (w t : R) : soft_threshold reals w t = Rmax (w - t) 0 - Rmax (- w - t) 0.
Proof. unfold soft_threshold. rewrite !maximum_real. reflexivity. Qed.

Lemma update_x_real (g x z y rho eta : R) :
  update_x reals g x z y rho eta = (- g - y + rho * z + x / eta) / (rho + 1 / eta).
Proof. reflexivity. Qed.

Lemma total_real n (f : nat -> R) : total reals n f = sum n f.
Proof. induction n as [|n IH]; simpl; [reflexivity|]. rewrite IH; reflexivity. Qed.

Lemma mean_real n (g : nat -> nat -> R) i : mean reals n g i = sum n (fun r => g r i) / INR n.
Proof. unfold mean. rewrite total_real. reflexivity. Qed.

(** Rounding to the nearest integer moves by at most one half. *)
Lemma half_even_near (a : R) : Rabs (IZR (half_even reals a) - a) <= / 2.
Proof.
  unfold half_even. cbn [floor reals of_int sub div of_nat]. unfold real_floor.
  destruct (archimed a) as (H1 & H2). rewrite minus_IZR. change (IZR 1) with 1.
  replace (INR 1 / INR 2) with (/ 2) by (simpl; lra).
  destruct (greater reals (a - (IZR (up a) - 1)) (/ 2)) eqn:E1.
  - apply greater_true in E1. apply Rabs_le. rewrite plus_IZR, minus_IZR. lra.
  - apply greater_false in E1. destruct (greater reals (/ 2) (a - (IZR (up a) - 1))) eqn:E2.
    + apply greater_true in E2. apply Rabs_le. rewrite minus_IZR. lra.
    + apply greater_false in E2. destruct (Z.even _); apply Rabs_le; rewrite ?plus_IZR, minus_IZR; lra.
Qed.
